/** The providers that the configuration names: the way there, the credential, the models, and their clocks. */
import { systemClock, unixMs } from '../base/clock.js'
import type { GatewayConfig, ProviderConfig } from '../gateway/catalog/configuration.js'
import { type Finding, fail, ok, warn } from './finding.js'
import { CLOCK_REMEDY } from './machine.js'
import { listProviderModels, type ModelListing, readToldTime, type ToldTime } from './model-listing.js'

const REACH_MS = 10_000
/** Of an HTTP date, which has whole seconds. */
const DATE_STEP_MS = 1_000
/** Tokens with a lifetime of minutes still work at this difference. */
const CLOCK_SKEW_MS = 5_000
const MOST_NAMES = 5
const MOST_NAME_CHARS = 80

type Served = Exclude<ProviderConfig, { readonly kind: 'simulated' }>

/** What came of one question. */
interface Asked {
  readonly finding: Finding
  /** Null where no clock was told. */
  readonly told: ToldTime | null
}

/**
 * Asks each provider which models it has, which costs nothing; an inference is never sent. The times of the answers say
 * how the clock of this machine goes.
 */
export async function examineProviders({
  providers,
  models,
}: Pick<GatewayConfig, 'providers' | 'models'>): Promise<readonly Finding[]> {
  const served = Object.entries(providers).filter(
    (entry): entry is [string, Served] => entry[1].kind !== 'simulated',
  )
  const asked = await Promise.all(
    served.map(([slug, provider]) =>
      provider.kind === 'openai' || provider.kind === 'anthropic'
        ? examineListing(slug, { ...provider, kind: provider.kind }, wantedOf(slug, models))
        : askForReach(`provider ${slug}`, provider.baseUrl),
    ),
  )
  const told = asked.map((each) => each.told).filter((each) => each !== null)
  return [...asked.map(({ finding }) => finding), ...judgeToldTimes(told)]
}

/** The names under which a provider is asked for models. One with a `*` stands for names that requests bring. */
function wantedOf(slug: string, models: GatewayConfig['models']): readonly string[] {
  const names = models
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ provider }) => provider === slug)
    .map(({ upstreamModel }) => upstreamModel)
  return [...new Set(names)].filter((name) => !name.includes('*'))
}

type Listed = Pick<Served, 'baseUrl' | 'apiKey' | 'headers'> & { readonly kind: 'openai' | 'anthropic' }

async function examineListing(slug: string, provider: Listed, wanted: readonly string[]): Promise<Asked> {
  const listing = await listProviderModels(provider, provider.apiKey)
  const finding = judgeListing(`provider ${slug}`, new URL(provider.baseUrl).host, listing, wanted)
  return { finding, told: listing.told }
}

function judgeListing(check: string, at: string, listing: ModelListing, wanted: readonly string[]): Finding {
  const { ids, isWhole, problem, status } = listing
  if (problem === null) return judgeNames(check, at, { ids, isWhole }, wanted)
  if (status === null) return fail(check, `${at}: ${problem}`, wayRemedy(problem))
  if (status === 401 || status === 403)
    return fail(check, `${at} answered ${status}`, 'give it a credential that it takes')
  if (status >= 500 || status === 429)
    return warn(check, `${at} answered ${status}`, 'look at its status page')
  return ok(check, `${at} answers; it lists no models (${status}), so its credential was not tried`)
}

/** Whether the models that the configuration names are among those that the provider lists. */
export function judgeNames(
  check: string,
  at: string,
  { ids, isWhole }: Pick<ModelListing, 'ids' | 'isWhole'>,
  wanted: readonly string[],
): Finding {
  const lists = `${at} lists ${ids.length} ${ids.length === 1 ? 'model' : 'models'}`
  // What has further pages, or was too long to be read, says nothing of a name that is not there.
  if (!isWhole) return ok(check, `${lists} and has more`)
  // Gemini puts the kind of a thing before its name, and takes it without.
  const known = new Set(ids.flatMap((id) => [id, id.replace(/^models\//, '')]))
  const missing = wanted.filter((name) => !known.has(name))
  if (missing.length === 0) return ok(check, lists)
  const shown = missing.slice(0, MOST_NAMES).map((name) => name.slice(0, MOST_NAME_CHARS))
  const more = missing.length > MOST_NAMES ? ` and ${missing.length - MOST_NAMES} more` : ''
  const remedy =
    'see to their names, and whether its key may use them; lists may leave out aliases, tuned models and deployments'
  return warn(check, `${lists}, without ${shown.join(', ')}${more}`, remedy)
}

/** Whether anything answers there; nothing of a credential is sent. */
export async function examineReach(check: string, url: string): Promise<Finding> {
  const { finding } = await askForReach(check, url)
  return finding
}

async function askForReach(check: string, url: string): Promise<Asked> {
  const { host } = new URL(url)
  try {
    const before = unixMs(systemClock)
    const signal = AbortSignal.timeout(REACH_MS)
    const { status, body, headers } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
    const told = readToldTime(headers, before, unixMs(systemClock))
    await body?.cancel()
    return { finding: ok(check, `${host} answers (${status}); its credential was not tried`), told }
  } catch (error) {
    const { cause, message } = error as Error
    const reason = cause instanceof Error ? cause.message || message : message
    return { finding: fail(check, `${host}: ${reason}`, wayRemedy(reason)), told: null }
  }
}

/** A clock that is wrong shows first as a certificate that is not valid yet, or no more. */
function wayRemedy(reason: string): string {
  const way = 'see to its name, its certificate and the way there'
  return /certificate (?:has expired|is not yet valid)/.test(reason)
    ? `${way}, and to the clock of this machine`
    : way
}

/** The clock of this machine beside those of providers; nothing where none told its time. */
export function judgeToldTimes(told: readonly ToldTime[]): readonly Finding[] {
  const skews = told.map(skewOf).sort((a, b) => Math.abs(a) - Math.abs(b))
  const [least] = skews
  if (least === undefined) return []
  // Two clocks that agree are right: then it is another provider's that is wrong.
  if (least === 0) return [ok('provider clock', 'it goes with the clock of this machine')]
  const side = least > 0 ? 'ahead of' : 'behind'
  const whose = told.length === 1 ? 'the provider' : `all ${told.length} providers`
  return [
    warn('provider clock', `this machine is ${describeTime(Math.abs(least))} ${side} ${whose}`, CLOCK_REMEDY),
  ]
}

/** Milliseconds by which this machine is surely ahead (behind below 0); 0 where the clocks may agree. */
function skewOf({ there, before, after }: ToldTime): number {
  // It was told at some moment between `before` and `after`, and up to a second is cut off.
  const ahead = before - (there + DATE_STEP_MS)
  const behind = there - after
  if (ahead > CLOCK_SKEW_MS) return ahead
  return behind > CLOCK_SKEW_MS ? -behind : 0
}

const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

function describeTime(ms: number): string {
  for (const [unit, name] of UNITS) if (ms >= 2 * unit) return `${Math.round(ms / unit)} ${name}`
  return `${Math.round(ms / 1000)} seconds`
}
