import { createHash } from 'node:crypto'
import type { ApiKey, Organization, Workspace } from '../../../src/store/account-store.js'

/** When the accounts of these tests began: Unix time in milliseconds. */
export const BEGAN = 1_700_000_000_000

/** The hash of the nth key of a test. */
export const hashOf = (n: number | string): string => createHash('sha256').update(`key ${n}`).digest('hex')

/** An id that sorts as `n` does. */
export const idOf = (n: number): string => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** The nth key of a test, with whatever matters to it. */
export function keyOf(n: number | string, more: Partial<ApiKey> = {}): ApiKey {
  return {
    hash: hashOf(n),
    kind: 'workspace',
    name: `key ${n}`,
    label: 'sk-sluice-v1-abc...xyz',
    organizationId: idOf(1),
    workspaceId: idOf(2),
    creatorUserId: null,
    disabled: false,
    deletedAt: null,
    expiresAt: null,
    operator: false,
    limit: null,
    limitReset: null,
    includeByokInLimit: false,
    externalUser: null,
    createdAt: BEGAN,
    updatedAt: null,
    ...more,
  }
}

export function organizationOf(n: number, more: Partial<Organization> = {}): Organization {
  return {
    id: idOf(n),
    name: `organization ${n}`,
    plan: 'team',
    createdAt: BEGAN,
    updatedAt: null,
    ...more,
  }
}

export function workspaceOf(n: number, organizationId: string): Workspace {
  return { id: idOf(n), organizationId, name: `workspace ${n}`, createdAt: BEGAN }
}
