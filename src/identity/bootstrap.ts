/** The first accounts, and the keys that the operator has chosen. */
import { type Clock, unixMs } from '../base/clock.js'
import { newUuidV7 } from '../base/ids.js'
import type {
  AccountStore,
  ApiKey,
  KeySettingName,
  NewOrganization,
  OrganizationPlan,
  Workspace,
} from '../store/account-store.js'
import {
  type ApiKeySpec,
  addNewKey,
  createKeyRecord,
  generateKey,
  hashKey,
  isGeneratedKeyLabel,
  keyRefusal,
} from './api-keys.js'

/** The first organization may try everything; the operator can set another plan at any time. */
const FIRST_PLAN: OrganizationPlan = 'enterprise'
const DEFAULT_NAME = 'default'
const MOST_TRIES = 100

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
 * leaves no operator's credential and none is chosen, it makes one. A chosen key that a person has disabled or deleted
 * stays so: a restart must not undo it. Safe to run in several processes at once.
 */
export async function bootstrapAccounts(
  accounts: AccountStore,
  clock: Clock,
  configured: ConfiguredKeys,
): Promise<BootstrapResult> {
  const now = unixMs(clock)
  const { workspace, generated } = await ensureFirstAccounts(accounts, configured, now)
  const [apiKey = null, firstOperatorKey = null] = generated
  const slots = buildKeySlots(configured, workspace.organizationId, workspace.id)
  const hints = []
  for (const slot of slots) hints.push(await ensureConfiguredKey(accounts, slot, now))
  const withdrawn = await withdrawFormerKeys(accounts, slots, now)
  const managementKey = firstOperatorKey ?? (await replaceOperatorKey(accounts, slots, withdrawn, now))
  return { apiKey, managementKey, hints: hints.filter((hint) => hint !== null), withdrawn }
}

/** One of the two keys that a setting may choose. */
interface KeySlot {
  readonly setting: KeySettingName
  /** `''` where the setting chooses none. */
  readonly key: string
  readonly spec: ApiKeySpec
}

function buildKeySlots(configured: ConfiguredKeys, organizationId: string, workspaceId: string): KeySlot[] {
  return [
    {
      setting: 'SLUICE_API_KEY',
      key: configured.apiKey,
      spec: { kind: 'workspace', name: DEFAULT_NAME, organizationId, workspaceId },
    },
    {
      setting: 'SLUICE_MANAGEMENT_KEY',
      key: configured.managementKey,
      spec: { kind: 'management', name: 'operator', organizationId, workspaceId: null, operator: true },
    },
  ]
}

/** An organization with its workspace, called "default". */
export function buildOrganization(
  name: string,
  plan: OrganizationPlan,
  now: number,
): Omit<NewOrganization, 'keys'> {
  const organization = { id: newUuidV7(now), name, plan, createdAt: now, updatedAt: null }
  const organizationId = organization.id
  return {
    organization,
    workspaces: [{ id: newUuidV7(now), organizationId, name: DEFAULT_NAME, createdAt: now }],
  }
}

/**
 * The workspace of the first organization, both made where there are none, and for each slot the key that was generated:
 * null where one is chosen, nothing at all where the accounts were there or another process was first.
 */
async function ensureFirstAccounts(
  accounts: AccountStore,
  configured: ConfiguredKeys,
  now: number,
): Promise<{ readonly workspace: Workspace; readonly generated: readonly (string | null)[] }> {
  let generated: readonly (string | null)[] = []
  // A process that opens the embedded store can hide the newest change from readers for a moment, though not from the
  // next change, which puts that right (store/lmdb/last-transaction.ts). So what another process has just made may not
  // be seen at once.
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const [organization] = accounts.organizations()
    const [workspace] = organization === undefined ? [] : accounts.workspacesOf(organization.id)
    if (workspace !== undefined) return { workspace, generated }
    const created = await createFirstAccounts(accounts, configured, now)
    if (created !== null) generated = created
  }
  throw new Error('the store has a first organization and does not show it')
}

/** For each slot the key that was generated, null where one is chosen; null when another process was first. */
async function createFirstAccounts(
  accounts: AccountStore,
  configured: ConfiguredKeys,
  now: number,
): Promise<readonly (string | null)[] | null> {
  const first = buildOrganization(DEFAULT_NAME, FIRST_PLAN, now)
  const slots = buildKeySlots(configured, first.organization.id, first.workspaces[0]!.id)
  const generated = slots.map(({ key, spec }) => (key === '' ? generateKey(spec.kind) : null))
  const keys = slots.map((slot, at) => createSlotRecord(slot, generated[at] ?? null, now))
  return (await accounts.bootstrap({ ...first, keys })) ? generated : null
}

function createSlotRecord({ setting, key, spec }: KeySlot, generated: string | null, now: number): ApiKey {
  if (generated !== null) return createKeyRecord(generated, spec, now)
  return createKeyRecord(key, { ...spec, chosen: { setting, withdrawn: false } }, now)
}

/** Null when the key works as its setting means it, or none is chosen; otherwise why it does not. */
async function ensureConfiguredKey(
  accounts: AccountStore,
  slot: KeySlot,
  now: number,
): Promise<string | null> {
  const { setting, key, spec } = slot
  if (key === '' || (await accounts.addKey(createSlotRecord(slot, null, now)))) return null
  // A change sees what readers may miss for a moment.
  const known = accounts.key(hashKey(key)) ?? (await accounts.changeKey(hashKey(key), (same) => same))
  if (known === null) return null
  if ((known.kind === 'management') !== (spec.kind === 'management')) {
    return `the key of ${setting} is known already, as a ${known.kind} key`
  }
  const refusal = keyRefusal(await reinstateKey(accounts, known, slot, now), now)
  return refusal && `the key of ${setting} is ${refusal}; it stays so until it is chosen anew`
}

/** A key that was withdrawn because its setting had changed is enabled again; one that a person has disabled is not. */
async function reinstateKey(
  accounts: AccountStore,
  known: ApiKey,
  { setting, spec: { operator: isOperator = false } }: KeySlot,
  now: number,
): Promise<ApiKey> {
  const changed = await accounts.changeKey(known.hash, (current) => {
    const { chosen } = current
    const isRecorded = chosen?.withdrawn === false
    const isMadeHere = chosen?.madeHere === true || originSettingOf(current) === null
    if (isRecorded && (current.operator || !isOperator)) return current
    return {
      ...current,
      operator: current.operator || isOperator,
      disabled: current.disabled && chosen?.withdrawn !== true,
      ...(!isRecorded && {
        chosen: { setting, withdrawn: false, ...(isMadeHere && { madeHere: true as const }) },
      }),
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

/**
 * Disables keys that came from a setting and are named by none now. One that was made here and named afterwards goes
 * when its setting names another one, and stays when the setting goes. Once: a key enabled by hand afterwards stays.
 */
async function withdrawFormerKeys(
  accounts: AccountStore,
  slots: readonly KeySlot[],
  now: number,
): Promise<WithdrawnKey[]> {
  const named = slots.filter(({ key }) => key !== '').map(({ key }) => hashKey(key))
  const settingToWithdraw = (key: ApiKey): KeySettingName | null => {
    const { chosen, disabled, hash } = key
    if (disabled || chosen?.withdrawn === true || named.includes(hash)) return null
    const origin = originSettingOf(key)
    const isReplaced = slots.some((slot) => slot.setting === origin && slot.key !== '')
    return chosen?.madeHere === true && !isReplaced ? null : origin
  }
  const withdrawn: WithdrawnKey[] = []
  for (const { hash, label } of accounts.keys().filter((key) => settingToWithdraw(key) !== null)) {
    let by: KeySettingName | null = null
    await accounts.changeKey(hash, (current) => {
      by = settingToWithdraw(current)
      return by === null
        ? current
        : {
            ...current,
            disabled: true,
            chosen: { ...current.chosen, setting: by, withdrawn: true },
            updatedAt: now,
          }
    })
    if (by !== null) withdrawn.push({ setting: by, label, hash })
  }
  return withdrawn
}

/** An operator's credential where the last one was withdrawn and none is chosen; otherwise null. */
async function replaceOperatorKey(
  accounts: AccountStore,
  slots: readonly KeySlot[],
  withdrawn: readonly WithdrawnKey[],
  now: number,
): Promise<string | null> {
  const { setting, key: chosen, spec } = slots[1]!
  if (chosen !== '' || !withdrawn.some((key) => key.setting === setting)) return null
  if (accounts.keys().some((key) => key.operator && keyRefusal(key, now) === null)) return null
  return (await addNewKey(accounts, spec, now)).key
}
