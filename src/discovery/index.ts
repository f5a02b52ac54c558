// The exports of `mcp-bridge/discovery`.

export { DEPTH_VARIABLE, nextDepth } from '../local/bridge-depth.ts';
export type { ClientApproval, FirstSeen, SeenApprovals } from './approval.ts';
export { type Approval, type Approvals, definitionHash } from './approval.ts';
export type { Diagnostic, DiagnosticCode, DiagnosticLevel } from './diagnostic.ts';
export type {
  DefinitionOrigin as ServerSource,
  DiscoveredServer,
  DiscoveredTransport,
  Launch,
  ServerState,
} from './discovered-server.ts';
export { type Discovery, type DiscoveryOptions, discoverServers, inputVariable, type OwnConfig } from './discovery.ts';
export type { Conflict, Group } from './duplicates.ts';
export type { GivenServers } from './gathering.ts';
export type { HeldNames } from './held-names.ts';
export type { DiscoveryHost, HostFiles, OwnIdentity, Platform } from './host.ts';
export { type NodeProcess, nodeDiscoveryHost } from './node-host.ts';
export {
  decidePolicy,
  explainPolicy,
  type OwnPolicy,
  type Policies,
  type Policy,
  type PolicyDecision,
  type PolicySubject,
} from './policy.ts';
export type { PolicyRule } from './policy-rules.ts';
export type { Precedence } from './precedence.ts';
export { SourceMemory, type SourceMemoryOptions } from './source-memory.ts';
