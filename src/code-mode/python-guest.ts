// The globals of a Python program: a proxy per server, the module `mcp.runtime`, and the report of its end. The code is
// Python and runs inside Pyodide. It protects nothing: the daemon checks what comes out, and the process is confined.

export const PYTHON_GUEST = `
import asyncio, json, re, sys, types

def install(send, servers_text):
    known = json.loads(servers_text)
    pending = {}
    last = 0

    class ToolError(Exception):
        def __init__(self, message, code=None, data=None, server=None, tool=None):
            super().__init__(message)
            self.code, self.data, self.server, self.tool = code, data, server, tool

    def ask(kind, server, tool, *values):
        nonlocal last
        last += 1
        text = "\\t".join([str(last), *(json.dumps(value, allow_nan=False) for value in values)])
        future = asyncio.get_running_loop().create_future()
        pending[last] = future
        if not send(kind, text):
            del pending[last]
            message = "The arguments are longer than those of a program may be"
            raise ToolError(message, "TOOL_ARGUMENTS_INVALID", None, server, tool)
        return future

    def receive(text):
        answer = json.loads(text)
        future = pending.pop(answer.get("id"), None)
        if future is not None and not future.done():
            future.set_result(answer)

    def failed(error, server=None, tool=None):
        data = error.get("data") or {}
        inner = data.get("error") or {}
        code = inner.get("code") or data.get("code") or error.get("code")
        return ToolError(str(error.get("message")), code, data, server, tool)

    def useful(result):
        if result.get("structuredContent") is not None:
            return result["structuredContent"]
        content = result.get("content") or []
        if not content or any(part.get("type") != "text" for part in content):
            return content
        text = "\\n".join(str(part.get("text")) for part in content)
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except ValueError:
                pass
        return text

    async def call(server, tool, args, is_raw):
        answer = await ask("call", server, tool, str(server)[:500], str(tool)[:500], args)
        if "error" in answer:
            raise failed(answer["error"], server, tool)
        result = answer.get("result") or {}
        if is_raw:
            return result
        value = useful(result)
        if result.get("isError") is True:
            message = value if isinstance(value, str) else json.dumps(value)
            raise ToolError(message, "TOOL_FAILED", result.get("content"), server, tool)
        return value

    class Tool:
        def __init__(self, server, tool):
            self._of = (server, tool)

        def __call__(self, arguments=None, /, **named):
            return call(*self._of, {**(arguments or {}), **named}, False)

        def raw(self, arguments=None, /, **named):
            return call(*self._of, {**(arguments or {}), **named}, True)

    class Server:
        def __init__(self, name):
            self._name = name

        def __getattr__(self, tool):
            if tool.startswith("__"):
                raise AttributeError(tool)
            return Tool(self._name, tool)

        def __getitem__(self, tool):
            return Tool(self._name, tool)

    async def looked_up(kind, *values):
        answer = await ask(kind, None, None, *values)
        if "error" in answer:
            raise failed(answer["error"])
        return answer.get("value")

    def search(query, **options):
        return looked_up("search", str(query), options)

    def describe(*names):
        return looked_up("describe", [str(name) for name in names])

    def discovered_servers(detailed=False):
        if detailed:
            return tuple(dict(server) for server in known)
        return tuple(server["name"] for server in known)

    proxies = {}
    servers = {}
    for server in known:
        alias = re.sub(r"[^a-z0-9_]+", "_", server["name"].lower())
        alias = "_" + alias if alias[:1].isdigit() else alias
        name, count = "mcp_" + alias, 1
        while name in proxies:
            count += 1
            name = "mcp_" + alias + "_" + str(count)
        servers[server["name"]] = proxies[name] = Server(server["name"])

    runtime = types.ModuleType("mcp.runtime")
    for member in (discovered_servers, search, describe, ToolError):
        setattr(runtime, member.__name__, member)
    runtime.servers = servers
    package = types.ModuleType("mcp")
    package.runtime = runtime
    package.__path__ = []
    sys.modules["mcp"], sys.modules["mcp.runtime"] = package, runtime
    scope = {"__name__": "__main__", "mcp_servers": servers, "ToolError": ToolError, **proxies}

    def place(error):
        if isinstance(error, SyntaxError) and error.lineno:
            return error.lineno
        line, step = None, error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == "program":
                line = step.tb_lineno
            step = step.tb_next
        return line

    async def run(code):
        from pyodide.code import eval_code_async
        try:
            value = await eval_code_async(code, scope, filename="program")
            sys.stdout.flush()
            try:
                text = json.dumps(value, allow_nan=False, separators=(",", ":"))
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError("The value of the program is not JSON: " + str(error)) from None
            send("returned", "" if value is None else text)
        except BaseException as error:
            line = place(error)
            told = {"name": type(error).__name__[:200], "message": str(getattr(error, "msg", None) or error)[:4000]}
            if line is not None:
                told["stack"] = "program:" + str(line)
            if isinstance(getattr(error, "code", None), (str, int)):
                told["code"] = error.code
            send("threw", json.dumps(told))

    return run, receive

install
`;
