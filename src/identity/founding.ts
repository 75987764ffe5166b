/** The first accounts, and the keys that the operator has chosen. */
import type { Clock } from '../base/clock.js'
import { uuidV7 } from '../base/ids.js'
import type { AccountStore, ApiKey, NewOrganization, Plan } from '../store/account-store.js'
import { generateKey, hashKey, type KeyChoice, keyRecord, refusalOf } from './api-keys.js'

/** The first organization may try everything; the operator can set another plan at any time. */
const FIRST_PLAN: Plan = 'enterprise'
export const DEFAULT_NAME = 'default'

/** Keys the operator has chosen; `''` where there is none. */
export interface FixedKeys {
  readonly apiKey: string
  readonly managementKey: string
}

export interface Founded {
  /** Plaintext of the keys that were generated just now, to be shown once and forgotten; null otherwise. */
  readonly apiKey: string | null
  readonly managementKey: string | null
  /** Sentences for the operator about chosen keys that do not work, naming the setting and never the key. */
  readonly hints: readonly string[]
}

/**
 * On the first start makes an organization and a workspace, both called "default", one workspace key and one
 * management key, which is the operator's credential (contract/decisions 39). On every start makes sure that the
 * chosen keys exist. A chosen key that somebody has disabled or deleted stays so: a restart must not undo it.
 * Safe to run in several processes at once.
 */
export async function foundAccounts(
  accounts: AccountStore,
  clock: Clock,
  fixed: FixedKeys,
): Promise<Founded> {
  const now = Math.floor(clock.unixSeconds() * 1000)
  if (accounts.organizations().length === 0) {
    const apiKey = fixed.apiKey || generateKey('workspace')
    const managementKey = fixed.managementKey || generateKey('management')
    if (await accounts.found(firstAccounts(apiKey, managementKey, now))) {
      return {
        apiKey: fixed.apiKey === '' ? apiKey : null,
        managementKey: fixed.managementKey === '' ? managementKey : null,
        hints: await ensureFixed(accounts, fixed, now),
      }
    }
  }
  return { apiKey: null, managementKey: null, hints: await ensureFixed(accounts, fixed, now) }
}

/** An organization with its workspace, called "default". */
export function newOrganization(name: string, plan: Plan, now: number): Omit<NewOrganization, 'keys'> {
  const organization = { id: uuidV7(now), name, plan, createdAt: now, updatedAt: null }
  const workspace = { id: uuidV7(now), organizationId: organization.id, name: DEFAULT_NAME, createdAt: now }
  return { organization, workspaces: [workspace] }
}

function firstAccounts(apiKey: string, managementKey: string, now: number): NewOrganization {
  const made = newOrganization(DEFAULT_NAME, FIRST_PLAN, now)
  const [workspace] = made.workspaces
  return {
    ...made,
    keys: [
      keyRecord(apiKey, workspaceKey(made.organization.id, workspace!.id), now),
      keyRecord(managementKey, operatorKey(made.organization.id), now),
    ],
  }
}

function workspaceKey(organizationId: string, workspaceId: string): KeyChoice {
  return { kind: 'workspace', name: DEFAULT_NAME, organizationId, workspaceId }
}

function operatorKey(organizationId: string): KeyChoice {
  return { kind: 'management', name: 'operator', organizationId, workspaceId: null, operator: true }
}

async function ensureFixed(accounts: AccountStore, fixed: FixedKeys, now: number): Promise<string[]> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const hints = [
    await ensure(
      accounts,
      'SLUICE_API_KEY',
      fixed.apiKey,
      workspaceKey(organization!.id, workspace!.id),
      now,
    ),
    await ensure(accounts, 'SLUICE_MANAGEMENT_KEY', fixed.managementKey, operatorKey(organization!.id), now),
  ]
  return hints.filter((hint) => hint !== null)
}

/** Null when the key works as its setting means it; otherwise why it does not. */
async function ensure(
  accounts: AccountStore,
  setting: string,
  key: string,
  wanted: KeyChoice,
  now: number,
): Promise<string | null> {
  if (key === '' || (await accounts.addKey(keyRecord(key, wanted, now)))) return null
  const found = accounts.key(hashKey(key))!
  const refusal = refusalOf(found, now)
  if (refusal !== null) return `the key of ${setting} is ${refusal}; it stays so until it is chosen anew`
  if (!isOfKind(found, wanted)) return `the key of ${setting} is known already, as a ${found.kind} key`
  if (wanted.operator === true && !found.operator) {
    await accounts.changeKey(found.hash, (current) => ({ ...current, operator: true, updatedAt: now }))
  }
  return null
}

function isOfKind(found: ApiKey, wanted: KeyChoice): boolean {
  return (found.kind === 'management') === (wanted.kind === 'management')
}
