/** Workspaces as the API tells them; only what is shown. */

export interface Workspace {
  readonly id: string
  readonly name: string
  readonly created_at: string
}

/** The first keys of a workspace: that they are there, and what they are called. */
export interface KeysOfWorkspace {
  readonly data: readonly { readonly hash: string; readonly name: string }[]
}

export const WORKSPACES = 'api/v1/workspaces'
export const workspacePath = (id: string): string => `${WORKSPACES}/${encodeURIComponent(id)}`
export const keysOf = (id: string): string =>
  `api/v1/keys?include_disabled=true&workspace_id=${encodeURIComponent(id)}`
