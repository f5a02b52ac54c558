// The only error type of the bridge. Its code is stable and part of the contract. Its message and hint are for people,
// and never hold environment values, headers or stack traces.

export type BridgeErrorCode =
  | 'AUDIT_FAILED'
  | 'AUTH_FAILED'
  | 'BELOW_A_BRIDGE'
  | 'CALL_STOPPED'
  | 'CALL_TIMED_OUT'
  | 'CLIENT_BUSY'
  | 'CLIENT_COMMAND_FAILED'
  | 'CLIENT_GONE'
  | 'CLIENT_NOT_FOUND'
  | 'CODE_BUSY'
  | 'CONFIG_INVALID'
  | 'CONFIG_NOT_FOUND'
  | 'CONNECTION_LOST'
  | 'DAEMON_ALREADY_RUNNING'
  | 'DAEMON_NOT_RUNNING'
  | 'DAEMON_START_FAILED'
  | 'DAEMON_UNREACHABLE'
  | 'DAEMON_UNRESPONSIVE'
  | 'DEMO_FAILED'
  | 'PROCESS_NOT_FOUND'
  | 'HOME_UNKNOWN'
  | 'MAILBOX_FULL'
  | 'MESSAGE_INVALID'
  | 'MESSAGE_LOOP'
  | 'MESSAGE_NOT_ACCEPTED'
  | 'MESSAGE_REFUSED'
  | 'MESSAGE_TOO_LARGE'
  | 'MESSAGE_TO_SELF'
  | 'PROMPT_NOT_FOUND'
  | 'FILE_CHANGED'
  | 'FILE_UNUSABLE'
  | 'LOG_NOT_FOUND'
  | 'QUESTION_UNANSWERED'
  | 'REGISTRY_UNUSABLE'
  | 'OUTCOME_UNKNOWN'
  | 'REQUEST_REFUSED'
  | 'RESOURCE_NOT_FOUND'
  | 'RESULT_NOT_FOUND'
  | 'RESUME_REFUSED'
  | 'RETRY_REFUSED'
  | 'SERVER_ANSWER_REFUSED'
  | 'SERVER_AUTH_REQUIRED'
  | 'SERVER_BROKEN'
  | 'SERVER_BUSY'
  | 'SERVER_CRASHED'
  | 'SERVER_EXISTS'
  | 'SERVER_NOT_CONNECTED'
  | 'SERVER_NOT_FOUND'
  | 'SERVER_START_FAILED'
  | 'SERVER_UNREACHABLE'
  | 'SERVICE_FAILED'
  | 'SERVICE_UNSUPPORTED'
  | 'SHUTTING_DOWN'
  | 'SOCKET_FOREIGN'
  | 'SOCKET_NOT_A_SOCKET'
  | 'SOCKET_PATH_TOO_LONG'
  | 'SOCKET_UNUSABLE'
  | 'TOOL_ARGUMENTS_INVALID'
  | 'TOOL_CHANGED'
  | 'TOOL_DISABLED'
  | 'TOOL_NEEDS_TASK'
  | 'TOOL_NOT_FOUND'
  | 'TOO_MANY_MESSAGES'
  | 'USAGE'
  | 'VIEW_UNKNOWN';

export interface BridgeErrorOptions {
  readonly hint?: string;
  readonly cause?: unknown;
  /** The MCP server that has failed. */
  readonly server?: string;
  readonly facts?: ErrorFacts;
}

/** Data for programs that need more than the code. An answer has it in `data`. */
export interface ErrorFacts {
  /** Existing names that resemble the missing one. */
  readonly near?: readonly string[];
  /** The first existing names, and their total number. */
  readonly known?: readonly string[];
  readonly count?: number;
  /** The reason, if a code has several. */
  readonly reason?: RefusalReason;
  /** The MCP versions that the server claims to speak, and those of the bridge. */
  readonly serverVersions?: readonly string[];
  readonly bridgeVersions?: readonly string[];
}

export type RefusalReason =
  | 'answer-malformed'
  | 'expired'
  | 'forged'
  | 'mailboxes-need-restart'
  | 'mailboxes-need-setting'
  | 'method-not-accepted'
  | 'method-reserved'
  | 'other-call'
  | 'other-client'
  | 'state-missing'
  | 'used'
  | 'view-without-mailbox';

/** Marks the errors of every copy of this class: the command, the daemon and the library are separate bundles. */
const BRAND = Symbol.for('mcp-bridge.error');

const NO_FACTS: ErrorFacts = {};

export class BridgeError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  readonly [BRAND] = true;
  override readonly name = 'BridgeError';
  readonly code: BridgeErrorCode;
  readonly hint: string | undefined;
  readonly server: string | undefined;
  readonly facts: ErrorFacts;

  constructor(code: BridgeErrorCode, message: string, options: BridgeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.server = options.server;
    this.facts = options.facts ?? NO_FACTS;
  }
}

/** The message of any thrown value, in one line. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code that Node gives to a failed system call, such as ENOENT. */
export function systemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
