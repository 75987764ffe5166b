/** The first accounts, and the keys that the operator has chosen. */
import type { Clock } from '../base/clock.js'
import { uuidV7 } from '../base/ids.js'
import type {
  AccountStore,
  ApiKey,
  KeySettingName,
  NewOrganization,
  OrganizationPlan,
} from '../store/account-store.js'
import { generateKey, hashKey, isLabelOfGenerated, type KeyChoice, keyRecord, refusalOf } from './api-keys.js'

/** The first organization may try everything; the operator can set another plan at any time. */
const FIRST_PLAN: OrganizationPlan = 'enterprise'
const DEFAULT_NAME = 'default'

/** Keys the operator has chosen; `''` where there is none. */
export interface FixedKeys {
  readonly apiKey: string
  readonly managementKey: string
}

/** A key that was disabled because its setting names another one, or none. */
interface Withdrawn {
  readonly setting: KeySettingName
  readonly label: string
  readonly hash: string
}

export interface Founded {
  /** Plaintext of the keys that were generated just now, to be shown once and forgotten; null otherwise. */
  readonly apiKey: string | null
  readonly managementKey: string | null
  /** Sentences for the operator about chosen keys that do not work, naming the setting and never the key. */
  readonly hints: readonly string[]
  /** Keys that this start has disabled. */
  readonly withdrawn: readonly Withdrawn[]
}

/**
 * On the first start makes an organization and a workspace, both called "default", one workspace key and one
 * management key, which is the operator's credential (contract/decisions 39). On every start makes sure that the
 * chosen keys exist, and disables those that were chosen before and no longer are (contract/decisions 65); when that
 * leaves no operator's credential and none is chosen, it makes one. A chosen key that somebody has disabled or deleted
 * stays so: a restart must not undo it. Safe to run in several processes at once.
 */
export async function foundAccounts(
  accounts: AccountStore,
  clock: Clock,
  fixed: FixedKeys,
): Promise<Founded> {
  const now = Math.floor(clock.unixSeconds() * 1000)
  const made = accounts.organizations().length === 0 ? await firstKeys(accounts, fixed, now) : NO_KEYS
  const hints = await ensureFixed(accounts, fixed, now)
  const withdrawn = await withdrawFormer(accounts, fixed, now)
  const managementKey = made.managementKey ?? (await replacement(accounts, fixed, withdrawn, now))
  return { apiKey: made.apiKey, managementKey, hints, withdrawn }
}

type Made = Pick<Founded, 'apiKey' | 'managementKey'>

const NO_KEYS: Made = { apiKey: null, managementKey: null }

/** The keys that were generated for the first accounts; none when another process was first. */
async function firstKeys(accounts: AccountStore, fixed: FixedKeys, now: number): Promise<Made> {
  const apiKey = fixed.apiKey || generateKey('workspace')
  const managementKey = fixed.managementKey || generateKey('management')
  if (!(await accounts.bootstrap(firstAccounts(apiKey, managementKey, fixed, now)))) return NO_KEYS
  return {
    apiKey: fixed.apiKey === '' ? apiKey : null,
    managementKey: fixed.managementKey === '' ? managementKey : null,
  }
}

/** An organization with its workspace, called "default". */
export function newOrganization(
  name: string,
  plan: OrganizationPlan,
  now: number,
): Omit<NewOrganization, 'keys'> {
  const organization = { id: uuidV7(now), name, plan, createdAt: now, updatedAt: null }
  const workspace = { id: uuidV7(now), organizationId: organization.id, name: DEFAULT_NAME, createdAt: now }
  return { organization, workspaces: [workspace] }
}

function firstAccounts(
  apiKey: string,
  managementKey: string,
  fixed: FixedKeys,
  now: number,
): NewOrganization {
  const made = newOrganization(DEFAULT_NAME, FIRST_PLAN, now)
  const [workspace] = made.workspaces
  const forCalls = workspaceKey(made.organization.id, workspace!.id)
  const forOperator = operatorKey(made.organization.id)
  return {
    ...made,
    keys: [
      keyRecord(apiKey, fixed.apiKey === '' ? forCalls : chosenBy('SLUICE_API_KEY', forCalls), now),
      keyRecord(
        managementKey,
        fixed.managementKey === '' ? forOperator : chosenBy('SLUICE_MANAGEMENT_KEY', forOperator),
        now,
      ),
    ],
  }
}

function workspaceKey(organizationId: string, workspaceId: string): KeyChoice {
  return { kind: 'workspace', name: DEFAULT_NAME, organizationId, workspaceId }
}

function operatorKey(organizationId: string): KeyChoice {
  return { kind: 'management', name: 'operator', organizationId, workspaceId: null, operator: true }
}

function chosenBy(setting: KeySettingName, wanted: KeyChoice): KeyChoice {
  return { ...wanted, chosen: { setting, withdrawn: false } }
}

async function ensureFixed(accounts: AccountStore, fixed: FixedKeys, now: number): Promise<string[]> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const forCalls = workspaceKey(organization!.id, workspace!.id)
  const hints = [
    await ensure(accounts, 'SLUICE_API_KEY', fixed.apiKey, forCalls, now),
    await ensure(accounts, 'SLUICE_MANAGEMENT_KEY', fixed.managementKey, operatorKey(organization!.id), now),
  ]
  return hints.filter((hint) => hint !== null)
}

/** Null when the key works as its setting means it; otherwise why it does not. */
async function ensure(
  accounts: AccountStore,
  setting: KeySettingName,
  key: string,
  wanted: KeyChoice,
  now: number,
): Promise<string | null> {
  if (key === '' || (await accounts.addKey(keyRecord(key, chosenBy(setting, wanted), now)))) return null
  const known = accounts.key(hashKey(key))!
  if (!isOfKind(known, wanted)) return `the key of ${setting} is known already, as a ${known.kind} key`
  const found = await chosenAgain(accounts, known, setting, wanted, now)
  const refusal = refusalOf(found, now)
  if (refusal !== null) return `the key of ${setting} is ${refusal}; it stays so until it is chosen anew`
  return null
}

/** What was disabled for being chosen no more is enabled by being chosen; what a person has disabled is not. */
async function chosenAgain(
  accounts: AccountStore,
  known: ApiKey,
  setting: KeySettingName,
  wanted: KeyChoice,
  now: number,
): Promise<ApiKey> {
  const changed = await accounts.changeKey(known.hash, (current) => {
    const { chosen } = current
    const isRecorded = chosen?.withdrawn === false || settingOf(current) === null
    if (isRecorded && (current.operator || wanted.operator !== true)) return current
    return {
      ...current,
      operator: current.operator || wanted.operator === true,
      disabled: current.disabled && chosen?.withdrawn !== true,
      ...(!isRecorded && { chosen: { setting, withdrawn: false } }),
      updatedAt: now,
    }
  })
  return changed ?? known
}

/**
 * The setting a key came from; null for one that was made here. Earlier versions did not keep it, but they made keys
 * of one form only: a key of another form can have come from nowhere but a setting, and its kind tells which.
 */
function settingOf({ chosen, kind, label }: ApiKey): KeySettingName | null {
  if (chosen !== undefined) return chosen.setting
  if (isLabelOfGenerated(label)) return null
  return kind === 'management' ? 'SLUICE_MANAGEMENT_KEY' : 'SLUICE_API_KEY'
}

/** Disables what a setting brought here and no setting names now. Once: who then enables it by hand means it. */
async function withdrawFormer(accounts: AccountStore, fixed: FixedKeys, now: number): Promise<Withdrawn[]> {
  const named = [fixed.apiKey, fixed.managementKey].filter((key) => key !== '').map(hashKey)
  const withdrawn: Withdrawn[] = []
  for (const { hash, label } of accounts.keys().filter((key) => isFormer(key, named))) {
    let by: KeySettingName | null = null
    await accounts.changeKey(hash, (current) => {
      const setting = settingOf(current)
      if (setting === null || !isFormer(current, named)) return current
      by = setting
      return { ...current, disabled: true, chosen: { setting, withdrawn: true }, updatedAt: now }
    })
    if (by !== null) withdrawn.push({ setting: by, label, hash })
  }
  return withdrawn
}

function isFormer(key: ApiKey, named: readonly string[]): boolean {
  return (
    settingOf(key) !== null && !key.disabled && key.chosen?.withdrawn !== true && !named.includes(key.hash)
  )
}

/** An operator's credential where the last one was withdrawn and none is chosen; otherwise null. */
async function replacement(
  accounts: AccountStore,
  fixed: FixedKeys,
  withdrawn: readonly Withdrawn[],
  now: number,
): Promise<string | null> {
  const isOperators = withdrawn.some(({ setting }) => setting === 'SLUICE_MANAGEMENT_KEY')
  if (!isOperators || fixed.managementKey !== '') return null
  if (accounts.keys().some((key) => key.operator && refusalOf(key, now) === null)) return null
  const key = generateKey('management')
  const [organization] = accounts.organizations()
  await accounts.addKey(keyRecord(key, operatorKey(organization!.id), now))
  return key
}

function isOfKind(found: ApiKey, wanted: KeyChoice): boolean {
  return (found.kind === 'management') === (wanted.kind === 'management')
}
