/** The first accounts, and the keys that the operator has chosen. */
import type { Clock } from '../base/clock.js'
import { newUuidV7 } from '../base/ids.js'
import type {
  AccountStore,
  ApiKey,
  KeySettingName,
  NewOrganization,
  OrganizationPlan,
} from '../store/account-store.js'
import {
  type ApiKeySpec,
  createKeyRecord,
  generateKey,
  hashKey,
  isGeneratedKeyLabel,
  keyRefusal,
} from './api-keys.js'

/** The first organization may try everything; the operator can set another plan at any time. */
const FIRST_PLAN: OrganizationPlan = 'enterprise'
const DEFAULT_NAME = 'default'

/** Keys the operator has chosen; `''` where there is none. */
export interface ConfiguredKeys {
  readonly apiKey: string
  readonly managementKey: string
}

/** A key that was disabled because its setting names another one, or none. */
interface WithdrawnKey {
  readonly setting: KeySettingName
  readonly label: string
  readonly hash: string
}

export interface BootstrapResult {
  /** Plaintext of the keys that were generated just now, to be shown once and forgotten; null otherwise. */
  readonly apiKey: string | null
  readonly managementKey: string | null
  /** Sentences for the operator about chosen keys that do not work, naming the setting and never the key. */
  readonly hints: readonly string[]
  /** Keys that this start has disabled. */
  readonly withdrawn: readonly WithdrawnKey[]
}

/**
 * On the first start makes an organization and a workspace, both called "default", one workspace key and one
 * management key, which is the operator's credential (contract/decisions 39). On every start makes sure that the
 * chosen keys exist, and disables those that were chosen before and no longer are (contract/decisions 65); when that
 * leaves no operator's credential and none is chosen, it makes one. A chosen key that somebody has disabled or deleted
 * stays so: a restart must not undo it. Safe to run in several processes at once.
 */
export async function bootstrapAccounts(
  accounts: AccountStore,
  clock: Clock,
  fixed: ConfiguredKeys,
): Promise<BootstrapResult> {
  const now = Math.floor(clock.unixSeconds() * 1000)
  const made =
    accounts.organizations().length === 0 ? await createFirstKeys(accounts, fixed, now) : NO_GENERATED_KEYS
  const hints = await ensureConfiguredKeys(accounts, fixed, now)
  const withdrawn = await withdrawFormerKeys(accounts, fixed, now)
  const managementKey = made.managementKey ?? (await replaceOperatorKey(accounts, fixed, withdrawn, now))
  return { apiKey: made.apiKey, managementKey, hints, withdrawn }
}

type GeneratedKeys = Pick<BootstrapResult, 'apiKey' | 'managementKey'>

const NO_GENERATED_KEYS: GeneratedKeys = { apiKey: null, managementKey: null }

/** The keys that were generated for the first accounts; none when another process was first. */
async function createFirstKeys(
  accounts: AccountStore,
  fixed: ConfiguredKeys,
  now: number,
): Promise<GeneratedKeys> {
  const apiKey = fixed.apiKey || generateKey('workspace')
  const managementKey = fixed.managementKey || generateKey('management')
  if (!(await accounts.bootstrap(buildFirstAccounts(apiKey, managementKey, fixed, now))))
    return NO_GENERATED_KEYS
  return {
    apiKey: fixed.apiKey === '' ? apiKey : null,
    managementKey: fixed.managementKey === '' ? managementKey : null,
  }
}

/** An organization with its workspace, called "default". */
export function buildOrganization(
  name: string,
  plan: OrganizationPlan,
  now: number,
): Omit<NewOrganization, 'keys'> {
  const organization = { id: newUuidV7(now), name, plan, createdAt: now, updatedAt: null }
  const workspace = {
    id: newUuidV7(now),
    organizationId: organization.id,
    name: DEFAULT_NAME,
    createdAt: now,
  }
  return { organization, workspaces: [workspace] }
}

function buildFirstAccounts(
  apiKey: string,
  managementKey: string,
  fixed: ConfiguredKeys,
  now: number,
): NewOrganization {
  const made = buildOrganization(DEFAULT_NAME, FIRST_PLAN, now)
  const [workspace] = made.workspaces
  const forCalls = workspaceKeySpec(made.organization.id, workspace!.id)
  const forOperator = operatorKeySpec(made.organization.id)
  return {
    ...made,
    keys: [
      createKeyRecord(
        apiKey,
        fixed.apiKey === '' ? forCalls : markAsConfigured('SLUICE_API_KEY', forCalls),
        now,
      ),
      createKeyRecord(
        managementKey,
        fixed.managementKey === '' ? forOperator : markAsConfigured('SLUICE_MANAGEMENT_KEY', forOperator),
        now,
      ),
    ],
  }
}

function workspaceKeySpec(organizationId: string, workspaceId: string): ApiKeySpec {
  return { kind: 'workspace', name: DEFAULT_NAME, organizationId, workspaceId }
}

function operatorKeySpec(organizationId: string): ApiKeySpec {
  return { kind: 'management', name: 'operator', organizationId, workspaceId: null, operator: true }
}

function markAsConfigured(setting: KeySettingName, wanted: ApiKeySpec): ApiKeySpec {
  return { ...wanted, chosen: { setting, withdrawn: false } }
}

async function ensureConfiguredKeys(
  accounts: AccountStore,
  fixed: ConfiguredKeys,
  now: number,
): Promise<string[]> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const forCalls = workspaceKeySpec(organization!.id, workspace!.id)
  const hints = [
    await ensureConfiguredKey(accounts, 'SLUICE_API_KEY', fixed.apiKey, forCalls, now),
    await ensureConfiguredKey(
      accounts,
      'SLUICE_MANAGEMENT_KEY',
      fixed.managementKey,
      operatorKeySpec(organization!.id),
      now,
    ),
  ]
  return hints.filter((hint) => hint !== null)
}

/** Null when the key works as its setting means it; otherwise why it does not. */
async function ensureConfiguredKey(
  accounts: AccountStore,
  setting: KeySettingName,
  key: string,
  wanted: ApiKeySpec,
  now: number,
): Promise<string | null> {
  if (key === '' || (await accounts.addKey(createKeyRecord(key, markAsConfigured(setting, wanted), now))))
    return null
  const known = accounts.key(hashKey(key))!
  if (!hasSameKind(known, wanted)) return `the key of ${setting} is known already, as a ${known.kind} key`
  const found = await reinstateKey(accounts, known, setting, wanted, now)
  const refusal = keyRefusal(found, now)
  if (refusal !== null) return `the key of ${setting} is ${refusal}; it stays so until it is chosen anew`
  return null
}

/** What was disabled for being chosen no more is enabled by being chosen; what a person has disabled is not. */
async function reinstateKey(
  accounts: AccountStore,
  known: ApiKey,
  setting: KeySettingName,
  wanted: ApiKeySpec,
  now: number,
): Promise<ApiKey> {
  const changed = await accounts.changeKey(known.hash, (current) => {
    const { chosen } = current
    const isRecorded = chosen?.withdrawn === false || originSettingOf(current) === null
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
function originSettingOf({ chosen, kind, label }: ApiKey): KeySettingName | null {
  if (chosen !== undefined) return chosen.setting
  if (isGeneratedKeyLabel(label)) return null
  return kind === 'management' ? 'SLUICE_MANAGEMENT_KEY' : 'SLUICE_API_KEY'
}

/** Disables what a setting brought here and no setting names now. Once: who then enables it by hand means it. */
async function withdrawFormerKeys(
  accounts: AccountStore,
  fixed: ConfiguredKeys,
  now: number,
): Promise<WithdrawnKey[]> {
  const named = [fixed.apiKey, fixed.managementKey].filter((key) => key !== '').map(hashKey)
  const withdrawn: WithdrawnKey[] = []
  for (const { hash, label } of accounts.keys().filter((key) => isFormerlyConfigured(key, named))) {
    let by: KeySettingName | null = null
    await accounts.changeKey(hash, (current) => {
      const setting = originSettingOf(current)
      if (setting === null || !isFormerlyConfigured(current, named)) return current
      by = setting
      return { ...current, disabled: true, chosen: { setting, withdrawn: true }, updatedAt: now }
    })
    if (by !== null) withdrawn.push({ setting: by, label, hash })
  }
  return withdrawn
}

function isFormerlyConfigured(key: ApiKey, named: readonly string[]): boolean {
  return (
    originSettingOf(key) !== null &&
    !key.disabled &&
    key.chosen?.withdrawn !== true &&
    !named.includes(key.hash)
  )
}

/** An operator's credential where the last one was withdrawn and none is chosen; otherwise null. */
async function replaceOperatorKey(
  accounts: AccountStore,
  fixed: ConfiguredKeys,
  withdrawn: readonly WithdrawnKey[],
  now: number,
): Promise<string | null> {
  const isOperators = withdrawn.some(({ setting }) => setting === 'SLUICE_MANAGEMENT_KEY')
  if (!isOperators || fixed.managementKey !== '') return null
  if (accounts.keys().some((key) => key.operator && keyRefusal(key, now) === null)) return null
  const key = generateKey('management')
  const [organization] = accounts.organizations()
  await accounts.addKey(createKeyRecord(key, operatorKeySpec(organization!.id), now))
  return key
}

function hasSameKind(found: ApiKey, wanted: ApiKeySpec): boolean {
  return (found.kind === 'management') === (wanted.kind === 'management')
}
