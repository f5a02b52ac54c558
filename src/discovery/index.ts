// What `mcp-bridge/discovery` offers.

export { DEPTH_VARIABLE, nextDepth } from '../local/bridge-depth.ts';
export { type Approval, type Approvals, definitionHash } from './approval.ts';
export type { ClientApproval, FirstSeen, SeenApprovals } from './client-approvals.ts';
export type { Diagnostic, DiagnosticCode, DiagnosticLevel } from './diagnostic.ts';
export type {
  DiscoveredServer,
  DiscoveredTransport,
  Launch,
  ServerSource,
  ServerState,
} from './discovered-server.ts';
export { type Discovery, type DiscoveryOptions, discoverServers, inputVariable, type OwnConfig } from './discovery.ts';
export type { Conflict, Group } from './duplicates.ts';
export type { GivenServers } from './given-servers.ts';
export type { HeldNames } from './held-names.ts';
export type { DiscoveryHost, HostFiles, OwnIdentity, Platform } from './host.ts';
export { type NodeProcess, nodeDiscoveryHost } from './node-host.ts';
export { decidePolicy, type Policy, type PolicyDecision, type PolicySubject } from './policy.ts';
export type { PolicyRule } from './policy-rules.ts';
export { explainPolicy, type OwnPolicy, type Policies } from './policy-sources.ts';
export type { Precedence } from './precedence.ts';
export { SourceMemory, type SourceMemoryOptions } from './source-memory.ts';
