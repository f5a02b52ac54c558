// The entry of the library, `mcp-bridge/client`.

export type { DialInState } from '../protocol/inbound-server.ts';
export type { BridgeError, BridgeErrorCode } from '../util/bridge-error.ts';
export {
  type BridgeEvents,
  type BridgeOptions,
  BridgeTransport,
  type JsonRpcMessage,
} from './bridge-transport.ts';
export { type BridgeRequest, type MessageOptions, messageTo, senderOf } from './client-messages.ts';
export { type ConnectableClient, type ConnectOptions, connectToBridge } from './connect-to-bridge.ts';
export type { ReconnectOptions } from './library-options.ts';
export { type BridgeServerOptions, BridgeServerTransport } from './server-transport.ts';
