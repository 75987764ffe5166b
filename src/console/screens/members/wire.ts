/** Members and their roles as the API tells them; only what is shown. */

type Role = 'admin' | 'member'

export interface Member {
  readonly id: string
  /** The directory that delivers the person; null for who was added by hand. */
  readonly connection_id: string | null
  readonly user_name: string
  readonly external_id: string | null
  readonly display_name: string | null
  readonly active: boolean
  readonly roles: readonly { readonly workspace_id: string; readonly role: Role }[]
  readonly created_at: string
  readonly updated_at: string
}

export interface Reasons {
  readonly role: Role | null
  readonly reasons: readonly Reason[]
}

export interface Reason {
  readonly role: Role
  readonly by: 'direct' | 'group'
  readonly scim_group_id: string | null
  readonly group_name: string | null
  readonly since: string | null
  readonly author: string | null
  /** The directory has taken it away, and that waits for approval. */
  readonly held: boolean
}

export const ROLES = [
  ['member', 'member'],
  ['admin', 'admin'],
] as const

export const MEMBERS = 'api/v1/members'
export const memberPath = (id: string): string => `${MEMBERS}/${encodeURIComponent(id)}`
export const rolePath = (id: string, workspace: string): string =>
  `${memberPath(id)}/roles/${encodeURIComponent(workspace)}`
