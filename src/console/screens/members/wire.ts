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

/** An OpenID provider with which members sign in. */
export interface Provider {
  readonly id: string
  readonly name: string
  readonly issuer: string
  readonly redirect_uri: string
  readonly sign_in_url: string
}

/** Of a browser, as a key or as a member. */
export interface Session {
  readonly id: string
  readonly member_id: string | null
  /** Of the key, or of the member; null of what has gone. */
  readonly name: string | null
  readonly address: string
  readonly created_at: string
  readonly expires_at: string
}

export const ROLES = [
  ['member', 'member'],
  ['admin', 'admin'],
] as const

export const MEMBERS = 'api/v1/members'
export const memberPath = (id: string): string => `${MEMBERS}/${encodeURIComponent(id)}`
export const rolePath = (id: string, workspace: string): string =>
  `${memberPath(id)}/roles/${encodeURIComponent(workspace)}`
export const PROVIDERS = 'api/v1/sign-in-providers'
export const SESSIONS = 'api/v1/sessions'
