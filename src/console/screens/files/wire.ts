/** Files as the API tells them. */
import { queryOf } from '../../api/call.ts'

export interface StoredFile {
  readonly id: string
  readonly filename: string
  readonly mime_type: string
  readonly size_bytes: number
  readonly created_at: string
  readonly downloadable: boolean
}

/** Whose files: those of a workspace, here or in its account with a provider. */
export interface Scope {
  readonly workspace_id: string
  readonly provider: string
}

export const filesPath = (scope: Scope): string => `api/v1/files${queryOf({ ...scope })}`
export const filePath = (id: string, scope: Scope, part: '' | '/content' = ''): string =>
  `api/v1/files/${encodeURIComponent(id)}${part}${queryOf({ ...scope })}`
