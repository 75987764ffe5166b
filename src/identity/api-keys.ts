/** API keys as texts and as new records (contract/decisions 2). A key itself is shown once and never kept. */
import { hash, randomBytes } from 'node:crypto'
import type { KeyKind } from '../base/principal.js'
import type { AccountStore, ApiKey } from '../store/account-store.js'

const PREFIX = 'sk-sluice-v1-'
const MANAGEMENT_PREFIX = 'sk-sluice-mgmt-'
const SECRET_BYTES = 32

/** A new key: 32 random bytes behind the prefix of its kind. */
export function generateKey(kind: KeyKind): string {
  const prefix = kind === 'management' ? MANAGEMENT_PREFIX : PREFIX
  return prefix + randomBytes(SECRET_BYTES).toString('base64url')
}

/** The public id of a key: its SHA-256 in lower-case hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** A key as people recognise it: its prefix, then three characters of each end; fewer of a short chosen one. */
export function keyLabel(key: string): string {
  const prefix = [PREFIX, MANAGEMENT_PREFIX].find((each) => key.startsWith(each)) ?? ''
  const secret = key.slice(prefix.length)
  const shown = secret.length >= 32 ? 3 : 1
  return `${prefix}${secret.slice(0, shown)}...${secret.slice(-shown)}`
}

/** Whether a label is that of a key in the form of generated ones. */
export function isGeneratedKeyLabel(label: string): boolean {
  return [PREFIX, MANAGEMENT_PREFIX].some((prefix) => label.startsWith(prefix))
}

/** What has to be said about a new key; everything else has a default. */
export type ApiKeySpec = Pick<ApiKey, 'kind' | 'name' | 'organizationId' | 'workspaceId'> &
  Partial<Omit<ApiKey, 'hash' | 'label' | 'createdAt'>>

/** The record of a key that begins now. `now` is Unix time in milliseconds. */
export function createKeyRecord(key: string, choice: ApiKeySpec, now: number): ApiKey {
  return {
    creatorUserId: null,
    disabled: false,
    deletedAt: null,
    expiresAt: null,
    operator: false,
    limit: null,
    limitReset: null,
    includeByokInLimit: false,
    externalUser: null,
    updatedAt: null,
    ...choice,
    hash: hashKey(key),
    label: keyLabel(key),
    createdAt: now,
  }
}

/**
 * Makes a key and saves it: its record, and its plaintext, which is kept nowhere. `now` is Unix time in
 * milliseconds.
 */
export async function addNewKey(
  accounts: Pick<AccountStore, 'addKey'>,
  spec: ApiKeySpec,
  now: number,
): Promise<{ readonly record: ApiKey; readonly key: string }> {
  const key = generateKey(spec.kind)
  const record = createKeyRecord(key, spec, now)
  await accounts.addKey(record)
  return { record, key }
}

/** Why a key does not count now; null when it does. `now` is Unix time in milliseconds. */
export function keyRefusal(key: ApiKey, now: number): 'deleted' | 'disabled' | 'expired' | null {
  if (key.deletedAt !== null) return 'deleted'
  if (key.disabled) return 'disabled'
  return key.expiresAt !== null && now >= key.expiresAt ? 'expired' : null
}
