/**
 * The port of the directory: connections of organizations to their identity providers, the people (members) and groups
 * these deliver, and what follows for roles (contract/directory 1 to 6). Records are JSON; times are Unix milliseconds; ids are
 * UUID v7 that we issue.
 */
import type { MaybePromise } from '../base/maybe-promise.js'
import type { ScimActor, ScimAuditPage, ScimRole } from './scim-store.js'

/** A bearer token of a connection; shown once, kept as its SHA-256. */
export interface ConnectionToken {
  readonly id: string
  readonly hash: string
  /** First and last characters. */
  readonly label: string
  readonly createdAt: number
  readonly expiresAt: number | null
}

/** A directory that delivers people and groups to one organization. */
export interface DirectoryConnection {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** Two at most, so that one can be rotated without an outage. */
  readonly tokens: readonly ConnectionToken[]
  /** Removals from a group within an hour beyond this share of its members, and beyond `heldFrom`, are held. */
  readonly heldShare: number
  readonly heldFrom: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** The value of a SCIM document: what JSON can be. */
export type ScimValue =
  | string
  | number
  | boolean
  | null
  | readonly ScimValue[]
  | { readonly [name: string]: ScimValue }
/** A resource as its directory said it, names and values as the schemas spell them; without `id`, `meta`, `schemas`. */
export type ScimDocument = { readonly [name: string]: ScimValue }

/** A person of an organization: delivered by a connection, or added by hand. */
export interface Member {
  readonly id: string
  readonly organizationId: string
  /** Null for who was added by hand. */
  readonly connectionId: string | null
  /** Counts changes, from 1: the ETag is made of it. */
  readonly version: number
  /** As it was written; unique within the connection (or among those added by hand) after NFC and case folding. */
  readonly userName: string
  /** How the directory calls the person; not unique. */
  readonly externalId: string | null
  /** While false, personal keys and sessions are refused, and groups and direct roles give nothing. */
  readonly active: boolean
  /** Empty for who was added by hand, and of who was deleted. */
  readonly document: ScimDocument
  readonly createdAt: number
  readonly updatedAt: number
  /** The record of who was deleted stays: keys that name it stay refused. */
  readonly deletedAt: number | null
}

/** Of a member, in short. */
export interface MemberFacts {
  readonly organizationId: string
  readonly connectionId: string | null
  /** False of who was deleted. */
  readonly active: boolean
  readonly deleted: boolean
}

/** A group of a connection, without its members. */
export interface DirectoryGroup {
  readonly id: string
  readonly organizationId: string
  readonly connectionId: string
  readonly version: number
  readonly displayName: string
  readonly externalId: string | null
  readonly document: ScimDocument
  readonly memberCount: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Who is in a group, by the directory. An id that no person of the connection has is kept, and gives no role. */
export interface GroupMembership {
  readonly groupId: string
  /** What the directory names: the id of a person, or something we never issued. */
  readonly memberId: string
  readonly addedAt: number
  /** How the directory shows the member in this group, when it said so. */
  readonly display?: string
}

/** What is done to the members of a group, in order. */
export type MembershipChange =
  | { readonly op: 'remove'; readonly members: readonly string[] }
  /** `replace`: these and no others; an empty list clears the group. */
  | {
      readonly op: 'add' | 'replace'
      readonly members: readonly string[]
      /** How some of them are shown, by their id. */
      readonly displays?: ReadonlyMap<string, string>
    }

/** Removals that the directory made and that take no role away until an admin approves (contract/directory 6). */
export interface HeldRemoval {
  readonly groupId: string
  readonly connectionId: string
  readonly memberId: string
  readonly removedAt: number
}

/** A request of a connection, as its log shows it; bodies are redacted. */
export interface DirectoryRequest {
  readonly id: string
  readonly at: number
  readonly connectionId: string
  /** The token it came with; kept for the token's last use. */
  readonly tokenId: string
  readonly method: string
  /** Path and query, with values of filters left out. */
  readonly target: string
  readonly status: number
  readonly scimType: string | null
  readonly quirks: readonly string[]
  readonly requestId: string
}

/** One fact that gives a member a role in a workspace, for `why` (contract/directory 6). */
export interface RoleReason {
  readonly role: ScimRole
  /** `direct`, or by a mapping of a group. */
  readonly by: 'direct' | 'group'
  readonly mappingId: string | null
  readonly groupId: string | null
  /** Since when the member has it by this fact, and who made the mapping or the direct role (hash of a key, or an id of a member); null where it was not kept. */
  readonly since: number | null
  readonly author: string | null
  /** True while a removal of it is held. */
  readonly held: boolean
}

/** A write that cannot be done, told as a value: `change` functions must not throw inside a transaction. */
export type WriteRefusal<R> = { readonly refused: R }

/** What a write of a resource came to. */
export type DirectoryWrite<T, R = never> =
  | { readonly done: T }
  /** There is none of this id in this connection. */
  | { readonly absent: true }
  /** Another person of the connection has this `userName`. */
  | { readonly conflict: true }
  | WriteRefusal<R>

/** A page of a list: entries after the first `offset`, and how many there are in all. */
export interface DirectoryPage<T> {
  readonly entries: readonly T[]
  readonly total: number
}

/** What a list of a connection's resources is asked for; the fields that have an index. */
export type DirectoryLookup =
  /** `after`: only those behind the one of this id; the total stays that of all. */
  | { readonly by: 'all'; readonly after?: string }
  | { readonly by: 'id' | 'userName' | 'externalId' | 'displayName'; readonly value: string }

/**
 * Reads see every change that was acknowledged before the read began, by any process. Changes resolve when they are kept
 * and every worker and machine of the fleet goes by them. They fail with `unavailable` when the store cannot take them.
 * `change` functions run inside the transaction, may run several times and must not throw; returning the very record
 * leaves it as it is.
 */
export interface DirectoryStore {
  readonly connections: DirectoryConnections
  readonly members: DirectoryMembers
  readonly groups: DirectoryGroups
  readonly roles: DirectoryRoles
}

export interface DirectoryConnections {
  connection(id: string): DirectoryConnection | null
  /** The connection that a token opens, by the token's SHA-256, expired tokens included; about a microsecond. */
  byToken(hash: string): DirectoryConnection | null
  /** Oldest first. */
  connectionsOf(organizationId: string): readonly DirectoryConnection[]
  addConnection(connection: DirectoryConnection, actor: ScimActor): Promise<void>
  changeConnection(
    id: string,
    change: (current: DirectoryConnection) => DirectoryConnection,
    actor: ScimActor,
  ): Promise<DirectoryConnection | null>
  /** Its people are deactivated for good (tombstones), its groups and their memberships go. False when there is none. */
  removeConnection(id: string, at: number, actor: ScimActor): Promise<boolean>
  /** What the directory has changed, and what was done to its people and groups; the rest is in `ScimStore.auditPage`. */
  auditOf(
    organizationId: string,
    connectionId: string,
    offset: number,
    limit: number,
  ): MaybePromise<ScimAuditPage>
  /** Keeps a row of the request log; the newest 1,000 of a connection stay. Nobody waits for it; a crash may lose some. */
  logRequest(row: DirectoryRequest): void
  /** Newest first. */
  requestsOf(
    connectionId: string,
    offset: number,
    limit: number,
  ): MaybePromise<DirectoryPage<DirectoryRequest>>
  /** How often each leniency was used, by its name; from the request log's rows that were ever kept. */
  quirksOf(connectionId: string): MaybePromise<Readonly<Record<string, number>>>
  /** When each token was used last, by its id, in Unix milliseconds; from the same rows. */
  tokenUsesOf(connectionId: string): MaybePromise<Readonly<Record<string, number>>>
}

export interface DirectoryMembers {
  /** Of any organization; the caller checks whose. Tombstones included. */
  member(id: string): Member | null
  /** What authentication needs to know of a member, without reading what its directory says of it; about a microsecond. */
  factsOf(id: string): MemberFacts | null
  /** Those of one connection (null: added by hand), not deleted, oldest first. Costs the page, not the connection. */
  membersOf(
    scope: { readonly organizationId: string; readonly connectionId: string | null },
    lookup: DirectoryLookup,
    offset: number,
    limit: number,
  ): DirectoryPage<Member>
  /** All of an organization, of every connection and added by hand, oldest first. */
  membersOfOrganization(organizationId: string, offset: number, limit: number): DirectoryPage<Member>
  addMember(member: Member, actor: ScimActor): Promise<DirectoryWrite<Member>>
  /** `version` is counted up by the store when something changed. */
  changeMember<R>(
    id: string,
    change: (current: Member) => Member | WriteRefusal<R>,
    actor: ScimActor,
  ): Promise<DirectoryWrite<Member, R>>
  /** Leaves a tombstone, takes direct roles and memberships away. */
  removeMember<R>(
    id: string,
    check: (current: Member) => WriteRefusal<R> | null,
    at: number,
    actor: ScimActor,
  ): Promise<DirectoryWrite<Member, R>>
}

export interface DirectoryGroups {
  group(id: string): DirectoryGroup | null
  groupsOf(
    scope: { readonly organizationId: string; readonly connectionId: string },
    lookup: DirectoryLookup,
    offset: number,
    limit: number,
  ): DirectoryPage<DirectoryGroup>
  /** Members in the order of their ids, after `offset`; costs the page. */
  membershipsOf(groupId: string, offset: number, limit: number): DirectoryPage<GroupMembership>
  isMember(groupId: string, memberId: string): boolean
  /** Groups of the connection that name this member. */
  groupsOfMember(memberId: string): readonly DirectoryGroup[]
  addGroup(
    group: DirectoryGroup,
    members: readonly string[],
    actor: ScimActor,
    /** How some of them are shown, by their id. */
    displays?: ReadonlyMap<string, string>,
  ): Promise<DirectoryWrite<DirectoryGroup>>
  /** Costs the members that change, not those that are in it (`replace` reads all). `version` counts changes of either. */
  changeGroup<R>(
    id: string,
    change: (
      current: DirectoryGroup,
    ) => { readonly group: DirectoryGroup; readonly members: readonly MembershipChange[] } | WriteRefusal<R>,
    at: number,
    actor: ScimActor,
  ): Promise<DirectoryWrite<DirectoryGroup, R>>
  removeGroup<R>(
    id: string,
    check: (current: DirectoryGroup) => WriteRefusal<R> | null,
    at: number,
    actor: ScimActor,
  ): Promise<DirectoryWrite<DirectoryGroup, R>>
}

/** Facts from which roles follow; `ScimStore.roleOf` recomputes the role of a member from them on every call. */
export interface DirectoryRoles {
  /** Why a member has a role in a workspace, strongest first; empty when it has none. */
  reasons(workspaceId: string, memberId: string): readonly RoleReason[]
  /** The workspaces of an organization in which a member has a role. */
  workspacesOf(organizationId: string, memberId: string): ReadonlyMap<string, ScimRole>
  /** Members with a role in a workspace, in the order of their ids; for lists, costs all who have one, in turns. */
  membersOf(workspaceId: string): Promise<ReadonlyMap<string, ScimRole>>
  /** Gives a role directly, or another one than before. Null when the member or the workspace is not the organization's. */
  putDirectRole(
    role: {
      readonly organizationId: string
      readonly workspaceId: string
      readonly memberId: string
      readonly role: ScimRole
    },
    at: number,
    actor: ScimActor,
  ): Promise<boolean>
  /** Held removals of an organization, oldest first. */
  heldOf(organizationId: string): readonly HeldRemoval[]
  /** Lets held removals of a group take effect; how many. */
  approveHeld(groupId: string, at: number, actor: ScimActor): Promise<number>
}
