/** Puts workload identity federation together: issuer keys, exchange, access tokens, signing keys, audit. */
import type { Config } from '../config/config.js'
import type { OauthPorts } from '../features/oauth/endpoints.js'
import { IssuerService } from '../federation/admin/issuer-service.js'
import { PolicyService } from '../federation/admin/policy-service.js'
import type { FederationAdmin } from '../federation/admin/ports.js'
import { SigningKeyService } from '../federation/admin/signing-key-service.js'
import { AuditLogWriter } from '../federation/audit-log.js'
import { ConditionEvaluator } from '../federation/condition.js'
import { TokenExchange } from '../federation/exchange.js'
import { IssuerKeyCache, MOST_FETCHES } from '../federation/issuer-key-cache.js'
import { TimingEqualizer } from '../federation/timing-equalizer.js'
import type { Standing } from '../fleet/standing.js'
import { AccessTokenAuthority, type MintedAccessToken } from '../identity/access-token.js'
import { createSealer, sealingKeyOf } from '../identity/sealing-key.js'
import { maintainPeriodically, SigningKeys } from '../identity/signing-keys.js'
import type { FederationAuditRow } from '../store/federation-store.js'
import type { Store } from '../store/store.js'
import { addressGuard } from '../upstream/address-guard.js'
import { createUpstreamClient } from '../upstream/client.js'
import { jsonFetcher } from '../upstream/fetch-json.js'
import type { WorkerContext } from './worker-context.js'

interface FederationOptions extends Pick<WorkerContext, 'pool' | 'clock' | 'log' | 'baseUrl'> {
  readonly config: Pick<Config, 'dataDir' | 'sealingKeyFile' | 'allowLoopbackIssuers' | 'signingKeyDays'>
  readonly store: Pick<Store, 'accounts' | 'federation'>
  /** Of exchanges by client address; null when there is none. */
  readonly limit: OauthPorts['limit']
  /** Until when this machine of a fleet may serve; null where it stands alone. */
  readonly standing: Standing | null
}

const DAY_MS = 24 * 60 * 60_000
/** Long enough for the thread of conditions, which the first one starts, on a busy machine. */
const CONDITION_DEADLINE_MS = 5_000

export function composeFederation(options: FederationOptions) {
  const { config, store, pool, clock, log, baseUrl, limit, standing } = options
  const { allowLoopbackIssuers: allowLoopback } = config
  const { federation, accounts } = store
  const sealer = createSealer(sealingKeyOf(config))
  const signingKeys = new SigningKeys({
    store: federation,
    sealer,
    clock,
    periodMs: config.signingKeyDays * DAY_MS,
  })
  const accessTokens = new AccessTokenAuthority({ signingKeys, clock, baseUrl })
  const audit = new AuditLogWriter({
    store: federation,
    clock,
    // A fleet's exchanges go on by the replica until the staleness limit.
    waitsForStore: standing !== null,
    onLost: (rows, err) => log.error({ err, rows }, 'audit rows were lost'),
  })
  const conditions = new ConditionEvaluator(pool, { clock, deadlineMs: CONDITION_DEADLINE_MS })
  // Issuers have connections of their own, so that one that hangs starves no provider.
  const issuerClient = createUpstreamClient({
    guard: addressGuard(allowLoopback),
    onDefect: (err) => log.error({ err }, 'a defect while an issuer answered; the fetch was ended'),
  })
  const issuerKeys = new IssuerKeyCache({
    fetch: jsonFetcher(issuerClient, MOST_FETCHES, clock),
    clock,
    allowLoopback,
  })
  const exchange = new TokenExchange({
    federation,
    accounts,
    issuerKeys,
    conditions,
    accessTokens,
    audit,
    timing: new TimingEqualizer(),
    clock,
  })
  let stopMaintenance = (): void => {}
  return {
    oauth: {
      exchange: (request) => {
        const run = (): Promise<MintedAccessToken> => exchange.exchange(request)
        // Other machines take the token: it must not be made by a policy that is no more.
        return standing === null ? run() : standing.within(run)
      },
      limit,
      jwks: () => signingKeys.jwks(),
      baseUrl,
    } satisfies OauthPorts,
    admin: {
      federation,
      accounts,
      clock,
      issuers: new IssuerService(federation, clock, allowLoopback),
      policies: new PolicyService({ federation, accounts, conditions, clock }),
      signingKeys: new SigningKeyService(signingKeys, federation, clock),
      dryRun: (request) => exchange.dryRun(request),
      checkIssuer: (issuer) => issuerKeys.check(issuer),
      flushAudit: () => audit.flush(),
    } satisfies FederationAdmin,
    accessTokens,
    sealer,
    recordAudit: (row: FederationAuditRow): void => audit.append(row),
    /** Brings the signing keys in order and keeps them so. To be awaited before the first call. */
    start: async (): Promise<void> => {
      await signingKeys.maintain()
      stopMaintenance = maintainPeriodically(signingKeys, clock, (err) =>
        log.error({ err }, 'the signing keys could not be looked after; the next try comes in minutes'),
      )
    },
    /** Resolves when every audit row is on disk, or lost and told so, and nothing is dialled any more. */
    close: async (): Promise<void> => {
      stopMaintenance()
      await Promise.all([audit.close(), issuerClient.close()])
    },
  }
}
