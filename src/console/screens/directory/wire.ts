/** Directories, their groups and what groups give, as the API tells them; only what is shown. */

type Role = 'admin' | 'member'

export interface Connection {
  readonly id: string
  readonly name: string
  readonly held_share: number
  readonly held_from: number
  readonly created_at: string
  readonly updated_at: string
}

export interface Token {
  readonly id: string
  readonly label: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
}

export interface CreatedToken {
  readonly data: Token
  readonly token: string
}

export interface Asked {
  readonly id: string
  readonly at: string
  readonly method: string
  readonly target: string
  readonly status: number
  readonly scim_type: string | null
  readonly quirks: readonly string[]
}

export interface Removal {
  readonly scim_group_id: string
  readonly member_id: string
  readonly removed_at: string
}

export interface Quirk {
  readonly name: string
  readonly count: number
  readonly done: string | null
}

export interface Group {
  readonly id: string
  readonly display_name: string
  /** The connection that delivers it; null of one that a program has delivered. */
  readonly connection_id: string | null
  readonly member_count: number
}

export interface GroupMember {
  readonly user_id: string
  /** Null of an id that is nobody's. */
  readonly user_name: string | null
  readonly display_name: string | null
  readonly active: boolean | null
  readonly added_at: string | null
}

export interface Mapping {
  readonly id: string
  readonly scim_group_id: string
  readonly group_name: string | null
  readonly workspace_id: string
  readonly role: Role
  readonly updated_at: string
}

export interface Trial {
  readonly data: readonly {
    readonly user_id: string
    readonly user_name: string | null
    readonly role_before: Role | null
    readonly role_after: Role | null
  }[]
  readonly total_count: number
  readonly gains: number
  readonly losses: number
}

export const CONNECTIONS = 'api/v1/scim-connections'
export const connectionPath = (id: string): string => `${CONNECTIONS}/${encodeURIComponent(id)}`
export const MAPPINGS = 'api/v1/scim/group-mappings'
export const mappingPath = (id: string): string => `${MAPPINGS}/${encodeURIComponent(id)}`
export const GROUPS = 'api/v1/scim/groups'
