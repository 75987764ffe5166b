/** What is set, as it may be shown: made of the table of settings and of the keys of the gateway's part. */
import type { GatewayConfig, GatewayFileKeys } from '../gateway/catalog/configuration.js'
import type { Config } from './config.js'
import { SETTINGS, type SettingDefinition, type SettingSource, type Settings } from './settings.js'

interface SettingView {
  /** Key in the file. */
  readonly name: string
  /** Environment variable; null where the file alone says it. */
  readonly variable: string | null
  readonly meaning: string
  /** `set` or `not set` of what is secret, and of parts of the file that are more than one value. */
  readonly value: unknown
  readonly source: SettingSource
  readonly default: unknown
  /** Whether a change counts from the next reload on; from the next start on otherwise. */
  readonly reload: boolean
}

/** Read at the start alone, although it stands among what a reload renews. */
const LIMITS = 'limits'

/**
 * Every setting in the order of the table, then the members of the file. Nothing of a credential is in it.
 * @param gateway the part that reloads have renewed
 */
export function describeSettings(
  config: Config,
  gateway: Pick<GatewayConfig, 'members'>,
  keys: GatewayFileKeys,
): readonly SettingView[] {
  const settings = Object.entries<SettingDefinition>(SETTINGS).map(([name, definition]): SettingView => {
    const { env, key, about, default: fallback } = definition
    return {
      ...{ name: key, variable: env, meaning: about, default: shown(fallback, definition), reload: false },
      value: shown(config[name as keyof Settings], definition),
      source: config.sources[name as keyof Settings] ?? 'default',
    }
  })
  const members = Object.entries(keys).map(([key, { description }]): SettingView => {
    const isSet = gateway.members.includes(key)
    return {
      ...{ name: key, variable: null, meaning: description ?? '', default: NOT_SET, reload: key !== LIMITS },
      value: isSet ? SET : NOT_SET,
      source: isSet ? 'file' : 'default',
    }
  })
  return [...settings, ...members]
}

const SET = 'set'
const NOT_SET = 'not set'

function shown(value: unknown, { hides }: SettingDefinition): unknown {
  if (hides === null) return value
  if (value === '') return NOT_SET
  return hides === 'value' ? SET : withoutCredentials(String(value))
}

/** User and password are masked whole, and a query is left out: it may name a password too. */
function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return SET
  const { protocol, username, password, host, pathname } = new URL(url)
  return `${protocol}//${username + password === '' ? '' : '***@'}${host}${pathname}`
}
