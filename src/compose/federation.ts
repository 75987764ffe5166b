/** Puts workload identity federation together: issuer keys, exchange, access tokens, signing keys, audit. */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { CpuPool } from '../cpu-pool/pool.js'
import type { OauthPorts } from '../features/oauth/endpoints.js'
import { IssuerService } from '../federation/admin/issuer-service.js'
import { PolicyService } from '../federation/admin/policy-service.js'
import type { FederationAdmin } from '../federation/admin/ports.js'
import { SigningKeyService } from '../federation/admin/signing-key-service.js'
import { AuditLogWriter } from '../federation/audit-log.js'
import { ConditionEvaluator } from '../federation/condition.js'
import { TokenExchange } from '../federation/exchange.js'
import { IssuerKeyCache } from '../federation/issuer-key-cache.js'
import { TimingEqualizer } from '../federation/timing-equalizer.js'
import { AccessTokenAuthority } from '../identity/access-token.js'
import type { AccessTokenVerifier } from '../identity/authenticate.js'
import { createSealer, loadSealingKey } from '../identity/sealing-key.js'
import { maintainPeriodically, SigningKeys } from '../identity/signing-keys.js'
import type { Store } from '../store/store.js'
import { addressGuard } from '../upstream/address-guard.js'
import { createUpstreamClient } from '../upstream/client.js'
import { jsonFetcher } from '../upstream/fetch-json.js'

type FederationSettings = Pick<
  Config,
  'dataDir' | 'hashQueueRounds' | 'allowLoopbackIssuers' | 'signingKeyDays'
>

interface FederationOptions {
  readonly config: FederationSettings
  readonly store: Store
  readonly pool: CpuPool
  readonly clock: Clock
  readonly log: Log
  /** Public base URL: the configured one, or the address the server listens on (contract/decisions 35). */
  readonly baseUrl: string
  /** Of exchanges by client address; null when there is none. */
  readonly limit: OauthPorts['limit']
}

interface FederationParts {
  readonly oauth: OauthPorts
  readonly admin: FederationAdmin
  readonly accessTokens: AccessTokenVerifier
  /** Brings the signing keys in order and keeps them so. To be awaited before the first call. */
  start(): Promise<void>
  /** Resolves when every audit row is on disk and nothing is dialled any more. */
  close(): Promise<void>
}

const DAY_MS = 24 * 60 * 60_000
/** PBKDF2 rounds, the unit of work in the pool's queue, that a thread does in a millisecond. */
const ROUNDS_PER_MS = 4_000
/** Long enough for a thread of the pool to start on a busy machine: what is late counts as false. */
const SHORTEST_DEADLINE_MS = 10_000

export function composeFederation(options: FederationOptions): FederationParts {
  const { config, store, pool, clock, log, baseUrl } = options
  const { federation, accounts } = store
  const signingKeys = storedSigningKeys(config, store, clock)
  const accessTokens = new AccessTokenAuthority({ signingKeys, clock, baseUrl })
  const audit = new AuditLogWriter({
    store: federation,
    clock,
    onLost: (rows, err) => log.error({ err, rows }, 'audit rows were lost'),
  })
  const conditions = pooledConditions(config, pool, clock)
  const issuers = fetchedIssuerKeys(config, clock, (err) =>
    log.error({ err }, 'a defect while an issuer answered; the fetch was ended'),
  )
  const exchange = new TokenExchange({
    federation,
    accounts,
    issuerKeys: issuers.keys,
    conditions,
    accessTokens,
    audit,
    timing: new TimingEqualizer(),
    clock,
  })
  let stopTending = (): void => {}
  return {
    oauth: {
      exchange: (request) => exchange.exchange(request),
      limit: options.limit,
      jwks: () => signingKeys.jwks(),
    },
    admin: {
      federation,
      accounts,
      clock,
      issuers: new IssuerService(federation, clock, config.allowLoopbackIssuers),
      policies: new PolicyService({ federation, accounts, conditions, clock }),
      signingKeys: new SigningKeyService(signingKeys, federation, clock),
      dryRun: (request) => exchange.dryRun(request),
      flushAudit: () => audit.flush(),
    },
    accessTokens,
    start: async () => {
      await signingKeys.maintain()
      stopTending = maintainPeriodically(signingKeys, clock, (err) =>
        log.error({ err }, 'the signing keys could not be looked after; the next try comes in minutes'),
      )
    },
    close: async () => {
      stopTending()
      await Promise.all([audit.flush(), issuers.close()])
    },
  }
}

type SigningKeySettings = Pick<Config, 'dataDir' | 'signingKeyDays'>

/** The signing keys of a store, whose folder also holds the key they are sealed with. */
function storedSigningKeys(
  config: SigningKeySettings,
  store: Pick<Store, 'federation'>,
  clock: Clock,
): SigningKeys {
  return new SigningKeys({
    store: store.federation,
    sealer: createSealer(loadSealingKey(config.dataDir)),
    clock,
    periodMs: config.signingKeyDays * DAY_MS,
  })
}

function pooledConditions(
  config: Pick<Config, 'hashQueueRounds'>,
  pool: CpuPool,
  clock: Clock,
): ConditionEvaluator {
  // As long as what the pool lets wait, so that a busy pool says so itself.
  const deadlineMs = Math.max(SHORTEST_DEADLINE_MS, Math.ceil(config.hashQueueRounds / ROUNDS_PER_MS))
  return new ConditionEvaluator(pool, { clock, deadlineMs })
}

/** Has connections of its own, so that an issuer that hangs starves nobody. */
function fetchedIssuerKeys(
  { allowLoopbackIssuers: allowLoopback }: Pick<Config, 'allowLoopbackIssuers'>,
  clock: Clock,
  defect: (error: unknown) => void,
): { readonly keys: IssuerKeyCache; close(): Promise<void> } {
  const client = createUpstreamClient({ guard: addressGuard(allowLoopback), onDefect: defect })
  return {
    keys: new IssuerKeyCache({ fetch: jsonFetcher(client), clock, allowLoopback }),
    close: () => client.close(),
  }
}
