/** Puts sign-in together: sessions, and the OpenID providers of members. */

import { type Clock, unixMs } from '../base/clock.js'
import { newUuidV7 } from '../base/ids.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { SessionPorts } from '../features/sign-in/session-endpoints.js'
import type { SignInPorts } from '../features/sign-in/sign-in-endpoints.js'
import { SignInProviderService } from '../federation/admin/sign-in-provider-service.js'
import { jwksUrlDefect } from '../federation/issuer-url.js'
import type { People } from '../identity/people.js'
import type { Sealer } from '../identity/sealing-key.js'
import { Sessions } from '../identity/sessions.js'
import { OpenIdProviders } from '../identity/sign-in/openid-provider.js'
import { SignIn, type SignInEvent } from '../identity/sign-in/sign-in.js'
import { redirectUriOf } from '../identity/sign-in/sign-in-urls.js'
import type { FederationAuditRow } from '../store/federation-store.js'
import type { SignInProvider } from '../store/session-store.js'
import type { Store } from '../store/store.js'
import { addressGuard } from '../upstream/address-guard.js'
import { boundedFetcher } from '../upstream/bounded-fetch.js'
import { createUpstreamClient } from '../upstream/client.js'

interface SignInComposition {
  readonly config: Pick<Config, 'allowLoopbackIssuers' | 'consoleListen' | 'publicUrl' | 'tlsKey'>
  readonly store: Pick<Store, 'accounts' | 'directory' | 'sessions'>
  readonly people: People
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Log
  readonly baseUrl: string
  readonly limit: SignInPorts['limit']
  readonly audit: (row: FederationAuditRow) => void
}

const CONNECTIONS = { connections: 8, keepAliveMs: 1_000 }
const CALL_MS = 5_000
/** Of a discovery document, of keys and of tokens. */
const LARGEST_ANSWER = 64 * 1024

export function composeSignIn(options: SignInComposition) {
  const { config, store, people, sealer, clock, log, baseUrl, limit, audit } = options
  const sessions = new Sessions(store.sessions, clock, baseUrl)
  // Providers have connections of their own, so that one that hangs starves no other service.
  const providerClient = createUpstreamClient({
    guard: addressGuard(config.allowLoopbackIssuers),
    onDefect: (err) => log.error({ err }, 'a defect while an identity provider answered; the call was ended'),
  })
  const fetch = boundedFetcher(providerClient, CONNECTIONS, CALL_MS, LARGEST_ANSWER)
  const openid = new OpenIdProviders({
    fetch: (url, { method, headers, body }) => fetch(url, { method, headers, body }),
    clock,
    urlDefect: (url) => jwksUrlDefect(url, config.allowLoopbackIssuers),
    secretOf: (provider) => clientSecretOf(provider, sealer),
    redirectUriOf: (provider) => redirectUriOf(baseUrl, provider.id),
  })
  const signIn = new SignIn({
    ...{ store: store.sessions, members: store.directory.members, sessions, openid, sealer, clock },
    record: (event) => audit(auditRowOf(event, unixMs(clock))),
  })
  const providers = new SignInProviderService(
    {
      providers: store.sessions.providers,
      connections: store.directory.connections,
      ...{ sealer, clock, allowLoopback: config.allowLoopbackIssuers },
    },
    baseUrl,
  )
  const place = { baseUrl, hasTls: config.tlsKey !== '' }
  return {
    sessions,
    sessionPorts: {
      ...{
        sessions,
        accounts: store.accounts,
        people,
        members: store.directory.members,
        clock,
        audit,
        place,
        apiUrl: config.publicUrl || config.consoleListen ? `${baseUrl}/api` : null,
      },
    } satisfies SessionPorts,
    signInPorts: { signIn, limit, place } satisfies SignInPorts,
    providers,
    close: () => providerClient.close(),
  }
}

function clientSecretOf({ id, sealedSecret }: SignInProvider, sealer: Sealer): string | null {
  if (sealedSecret === null) return null
  const secret = sealer.open(sealedSecret, id)
  if (secret === null) throw new Error('the secret of the client is sealed under another key')
  return secret.toString()
}

/** In the trails of exchanges: a sign-in is one as well, of an ID token for a session. */
function auditRowOf(
  { provider, actor, reason, requestId, address }: SignInEvent,
  at: number,
): FederationAuditRow {
  const outcome = reason === null ? 'issued' : 'refused'
  return {
    ...{ id: newUuidV7(at), at, trail: outcome, organizationId: provider.organizationId, action: 'sign-in' },
    ...{ actor, policyId: null, issuerId: provider.id, keyHash: null, outcome, reason, requestId, address },
  }
}
