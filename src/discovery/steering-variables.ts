// Names of variables that decide what a program runs, where that comes from, and whom it trusts. Their values are never
// hidden.

const STEERING = new RegExp(
  `^(?:${[
    ...[
      'PATH',
      'PATHEXT',
      'HOME',
      'USERPROFILE',
      'SHELL',
      'COMSPEC',
      'ENV',
      'BASH_ENV',
      'BASH_FUNC_.*',
      'ZDOTDIR',
      'IFS',
    ],
    ...['LD_\\w+', 'DYLD_\\w+', 'GCONV_PATH', 'XDG_(?:CONFIG|DATA)_\\w+', 'EDITOR', 'VISUAL', 'PAGER', 'BROWSER'],
    ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'NODE_REPL_\\w+'],
    ...['npm_config_.*', 'YARN_\\w+', 'PNPM_\\w+', 'BUN_\\w+', 'DENO_\\w+', 'COREPACK_\\w+', 'ELECTRON_RUN_AS_NODE'],
    ...['PYTHON\\w*', 'PIP_\\w+', 'PIPX_\\w+', 'UV_\\w+', 'VIRTUAL_ENV', 'CONDA_\\w+'],
    ...[
      'RUBYLIB',
      'RUBYOPT',
      'GEM_HOME',
      'GEM_PATH',
      'BUNDLE_GEMFILE',
      'PERL5\\w*',
      'PERLLIB',
      'PHPRC',
      'PHP_INI_SCAN_DIR',
      'LUA_\\w+',
    ],
    ...['JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'JAVA_TOOL_OPTIONS', 'JAVA_HOME', 'CLASSPATH'],
    ...[
      'DOTNET_STARTUP_HOOKS',
      'DOTNET_ROOT\\w*',
      'DOTNET_ADDITIONAL_DEPS',
      'CORECLR_\\w+',
      'COR_\\w+',
      'GOFLAGS',
      'GOPROXY',
      'CARGO_HOME',
      'CARGO_BUILD_\\w+',
      'RUSTC\\w*',
    ],
    ...[
      'GIT_SSH\\w*',
      'GIT_EXEC_PATH',
      'GIT_CONFIG\\w*',
      'GIT_ASKPASS',
      'GIT_PROXY_COMMAND',
      'GIT_TEMPLATE_DIR',
      'SSH_ASKPASS',
      'SUDO_ASKPASS',
      'DOCKER_HOST',
      'DOCKER_CONFIG',
      'CONTAINER_HOST',
      'KUBECONFIG',
    ],
    ...['\\w+_PROXY', 'SSL_CERT_\\w+', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'OPENSSL_\\w+'],
  ].join('|')})$`,
  'i',
);

/** Says if a variable of this name can make a program run something else than it would. */
export function isSteering(name: string): boolean {
  return STEERING.test(name);
}
