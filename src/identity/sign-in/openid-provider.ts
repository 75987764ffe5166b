/**
 * The only importer of openid-client: the code flow with an OpenID provider, PKCE and nonce included (OpenID Connect Core
 * section 3.1). The library is loaded with the first sign-in: no start of a worker pays for it.
 */
import type * as openid from 'openid-client'
import type { Clock } from '../../base/clock.js'
import type { SignInProvider } from '../../store/session-store.js'

/** Of an attempt to sign in, what only this server knows. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** What a provider says of who came back. */
type ProviderAnswer =
  | { readonly ok: true; readonly claims: Readonly<Record<string, unknown>> }
  /** `declined` by its own word, `unverified` when what it said does not hold, `unreachable` when it said nothing. */
  | {
      readonly ok: false
      readonly reason: 'declined' | 'unverified' | 'unreachable'
      readonly detail: string
    }

interface OpenIdOptions {
  readonly fetch: openid.CustomFetch
  readonly clock: Clock
  /** Why a URL must not be used, as the end of a sentence; null when it may. */
  readonly urlDefect: (url: string) => string | null
  /** The client's secret; null for a public client. Fails when the seal cannot be opened. */
  readonly secretOf: (provider: SignInProvider) => string | null
  /** Where a provider sends people back to. */
  readonly redirectUriOf: (provider: SignInProvider) => string
}

/** What we know of a provider stays so long, a failure so long. */
const FRESH_MS = 10 * 60_000
const FAILED_MS = 10_000
/** With the keys of each, which may be as large as an answer: anybody who has an organization may name providers. */
const MOST_REMEMBERED = 64
/** Of one call; the library asks for three at most. */
const CALL_SECONDS = 5
/** As for subject tokens (contract/decisions 52). */
const ALGORITHMS = ['RS256', 'ES256']

interface Remembered {
  /** Another record is another provider. */
  readonly provider: SignInProvider
  readonly config: Promise<openid.Configuration>
  until: number
}

export class OpenIdProviders {
  private readonly remembered = new Map<string, Remembered>()

  constructor(private readonly options: OpenIdOptions) {}

  /** Where to send a browser, or why the provider cannot be asked. */
  async authorizationUrl(
    provider: SignInProvider,
    { state, nonce, verifier }: SignInSecrets,
  ): Promise<{ readonly ok: true; readonly url: string } | { readonly ok: false; readonly detail: string }> {
    const client = await import('openid-client')
    try {
      const url = client.buildAuthorizationUrl(await this.configurationOf(provider), {
        redirect_uri: this.options.redirectUriOf(provider),
        scope: provider.scopes.join(' '),
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      return { ok: true, url: url.href }
    } catch (error) {
      return { ok: false, detail: detailOf(error) }
    }
  }

  /** Redeems the code that came back in the query of the redirect. */
  async redeem(
    provider: SignInProvider,
    query: string,
    { state, nonce, verifier }: SignInSecrets,
  ): Promise<ProviderAnswer> {
    const client = await import('openid-client')
    try {
      const config = await this.configurationOf(provider)
      const tokens = await client.authorizationCodeGrant(
        config,
        new URL(`${this.options.redirectUriOf(provider)}?${query}`),
        { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
      )
      return { ok: true, claims: tokens.claims()! }
    } catch (error) {
      return { ok: false, reason: reasonOf(error, client), detail: detailOf(error) }
    }
  }

  private configurationOf(provider: SignInProvider): Promise<openid.Configuration> {
    const { clock } = this.options
    const known = this.remembered.get(provider.id)
    if (known?.provider === provider && clock.monotonicMs() < known.until) return known.config
    const config = this.discover(provider)
    const remembered: Remembered = { provider, config, until: clock.monotonicMs() + FRESH_MS }
    config.catch(() => {
      remembered.until = clock.monotonicMs() + FAILED_MS
    })
    this.remembered.delete(provider.id)
    if (this.remembered.size >= MOST_REMEMBERED) {
      this.remembered.delete(this.remembered.keys().next().value!)
    }
    this.remembered.set(provider.id, remembered)
    return config
  }

  private async discover(provider: SignInProvider): Promise<openid.Configuration> {
    const client = await import('openid-client')
    const { fetch, urlDefect, secretOf } = this.options
    const { issuer, clientId } = provider
    // The setting that lets issuers on this machine be named lets them speak in the clear.
    const insecure = issuer.startsWith('http:') ? [client.allowInsecureRequests] : []
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      [client.customFetch]: fetch,
      timeout: CALL_SECONDS,
      execute: insecure,
    })
    const metadata = neededOf(found.serverMetadata())
    // The library lets a few providers name another issuer than the one that was asked.
    if (metadata.issuer !== issuer) throw new ProviderUnfit('the discovery document is of another issuer')
    const defect = urlDefect(metadata.authorization_endpoint ?? '')
    if (defect !== null) throw new ProviderUnfit(`authorization_endpoint ${defect}`)
    const { id_token_signing_alg_values_supported: signs = ['RS256'] } = metadata
    const algorithms = signs.filter((each) => ALGORITHMS.includes(each))
    if (algorithms.length === 0) throw new ProviderUnfit(`it signs with none of ${ALGORITHMS.join(', ')}`)
    const config = new client.Configuration(
      { ...metadata, id_token_signing_alg_values_supported: algorithms },
      clientId,
      undefined,
      authenticationOf(metadata, secretOf(provider), client),
    )
    config[client.customFetch] = fetch
    config.timeout = CALL_SECONDS
    for (const extension of [...insecure, client.enableNonRepudiationChecks]) extension(config)
    return config
  }
}

/** Of a discovery document what a sign-in goes by; nothing else of it is kept. */
function neededOf({
  issuer,
  authorization_endpoint,
  token_endpoint,
  jwks_uri,
  id_token_signing_alg_values_supported,
  token_endpoint_auth_methods_supported,
  authorization_response_iss_parameter_supported,
}: openid.ServerMetadata): openid.ServerMetadata {
  const endpoints = { authorization_endpoint, token_endpoint, jwks_uri }
  const supported = {
    id_token_signing_alg_values_supported,
    token_endpoint_auth_methods_supported,
    authorization_response_iss_parameter_supported,
  }
  const told = Object.entries({ ...endpoints, ...supported }).filter(([, value]) => value !== undefined)
  return { issuer, ...Object.fromEntries(told) }
}

/** Basic is what every provider has to take, unless it says otherwise (OpenID Connect Core section 9). */
function authenticationOf(
  { token_endpoint_auth_methods_supported: methods }: openid.ServerMetadata,
  secret: string | null,
  client: typeof openid,
): openid.ClientAuth {
  if (secret === null) return client.None()
  const takesBasic = methods === undefined || methods.includes('client_secret_basic')
  return takesBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
}

/** A provider that does not do what a sign-in needs. */
class ProviderUnfit extends Error {
  readonly code = 'SLUICE_PROVIDER_UNFIT'
}

const UNREACHABLE = ['SLUICE_FETCH_FAILED', 'SLUICE_PROVIDER_UNFIT']

function reasonOf(error: unknown, client: typeof openid): 'declined' | 'unverified' | 'unreachable' {
  if (error instanceof client.AuthorizationResponseError) return 'declined'
  return errorsOf(error).some(({ code }) => UNREACHABLE.includes(String(code))) ? 'unreachable' : 'unverified'
}

/** An error and what caused it, as far as they are errors: the library hands on bodies as causes as well. */
function errorsOf(
  error: unknown,
): readonly (Error & { readonly code?: unknown; readonly error?: unknown })[] {
  const found: Error[] = []
  for (let each = error; each instanceof Error && found.length < MOST_CAUSES; each = each.cause)
    found.push(each)
  return found
}

const MOST_CAUSES = 5

/** Only what has a code has been said here or by the library; a parser repeats what it was given. */
function detailOf(error: unknown): string {
  const words = errorsOf(error).flatMap(({ message, code, error: told }) => {
    const name = typeof told === 'string' && /^[a-z_]{1,60}$/.test(told) ? [told] : []
    return typeof code === 'string' ? [message.slice(0, 200).toWellFormed(), ...name] : name
  })
  return words.join(': ') || 'no detail'
}
