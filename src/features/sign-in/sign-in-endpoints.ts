/** The two steps of a member's sign-in that a browser sees (OpenID Connect Core section 3.1). */
import { Fault, type FaultKind, throwFault } from '../../base/fault.js'
import { gateway } from '../../http/dialects/gateway.js'
import {
  type Endpoint,
  endpointGroup,
  type HeaderList,
  type HttpCall,
  type Reply,
} from '../../http/endpoint.js'
import { escapeMarkup, pageMarkup, pageReply } from '../../http/page.js'
import { idParam, optionalTextParam, parsedParam } from '../../http/params.js'
import { isSecurePlace, NO_ATTEMPT_COOKIE } from '../../identity/session-cookie.js'
import type { SignIn, SignInRefusal } from '../../identity/sign-in/sign-in.js'
import { INSECURE_PLACE } from './session-endpoints.js'

export interface SignInPorts {
  readonly signIn: SignIn
  /** Whether a client address has asked too often; null when there is no limit. See `Endpoint.limit`. */
  readonly limit: ((address: string) => Promise<void> | null) | null
  /** How browsers reach us. */
  readonly place: { readonly baseUrl: string; readonly hasTls: boolean }
}

const LONGEST_PATH = 512
/** One path on this host, which no browser reads as an address elsewhere. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/

const RETURN_TO = parsedParam(
  {
    type: 'string',
    default: '/',
    maxLength: LONGEST_PATH,
    description: 'Path on this server to come back to.',
  },
  '/',
  `must be a path on this server of at most ${LONGEST_PATH} characters`,
  (text) => (text.length <= LONGEST_PATH && OWN_PATH.test(text) ? text : null),
)

/** What a person is told: whether somebody is a member, who is active and who is not, is nobody's business. */
const REFUSALS: Readonly<Record<SignInRefusal, { readonly kind: FaultKind; readonly note: string }>> = {
  'not-begun': {
    kind: 'bad-request',
    note: 'This sign-in was not begun in this browser, was begun more than 10 minutes ago, or is done. Begin again',
  },
  declined: { kind: 'forbidden', note: 'The identity provider did not sign you in' },
  unverified: {
    kind: 'forbidden',
    note: 'What the identity provider answered could not be verified. Begin again, or ask an admin to look at the audit',
  },
  unreachable: {
    kind: 'unavailable',
    note: 'The identity provider cannot be reached, or its discovery document is not fit',
  },
  'no-member': {
    kind: 'forbidden',
    note: 'The identity provider knows you, but there is no single active member with this identity here. Ask an admin',
  },
}
const RETRY_SECONDS = 10
const PRIVATE_PAGE: HeaderList = [
  ['Cache-Control', 'no-store'],
  // The address of the page holds the code.
  ['Referrer-Policy', 'no-referrer'],
]

const operation = endpointGroup({ tag: 'Sign-in', dialect: gateway })

export const signInEndpoints = ({ signIn, limit, place }: SignInPorts): Endpoint[] => [
  operation('begin_sign_in', 'GET /api/v1/sign-in/{provider_id}', {
    summary: 'Begin the sign-in of a member: to be opened in a browser',
    open: true,
    readsAddress: true,
    limit: (call) => (limit === null ? null : limit(call.address)),
    headers: ['accept', 'host', 'sec-fetch-site', 'x-forwarded-proto'],
    params: { provider_id: idParam('Id of the sign-in provider.') },
    query: { return_to: RETURN_TO },
    replies: {
      200: {
        description: 'Where another site has sent the browser: a page that asks first',
        mediaType: 'text/html; charset=utf-8',
      },
      302: {
        description: 'To the identity provider',
        headers: { Location: 'Where to sign in.', 'Set-Cookie': 'What the browser needs to come back.' },
      },
    },
    faults: ['bad-request', 'item-not-found', 'forbidden', 'unavailable'],
    handle: async ({ params, query }, call) => {
      const asked = { host: call.header('host'), forwardedProto: call.header('x-forwarded-proto') }
      if (!isSecurePlace(asked, place)) throw new Fault('bad-request', { note: INSECURE_PLACE })
      if (OF_ANOTHER_SITE.includes(call.header('sec-fetch-site'))) {
        const issuer = signIn.issuerOf(params.provider_id) ?? throwFault('item-not-found')
        return pageReply(200, askedFirstMarkup(issuer, params.provider_id, query.return_to), PRIVATE_PAGE)
      }
      const begun = await signIn.begin(params.provider_id, query.return_to, call)
      if (begun === null) throw new Fault('item-not-found')
      if (!begun.ok) return refusalReply(begun.refusal, call, [])
      const { location, cookie } = begun
      return {
        status: 302,
        headers: [...PRIVATE_PAGE, ['Location', location], ['Set-Cookie', cookie]],
        body: null,
      }
    },
  }),
  operation('end_sign_in', 'GET /api/v1/sign-in/{provider_id}/callback', {
    summary: 'Where an identity provider sends the browser of a member back to',
    open: true,
    readsAddress: true,
    limit: (call) => (limit === null ? null : limit(call.address)),
    headers: ['accept', 'cookie'],
    params: { provider_id: idParam('Id of the sign-in provider.') },
    query: {
      code: optionalTextParam('What the provider gives for a sign-in.'),
      state: optionalTextParam('What the sign-in was begun with.'),
    },
    replies: {
      200: {
        description: 'Signed in: a page that goes on to where the sign-in was begun',
        mediaType: 'text/html; charset=utf-8',
        headers: { 'Set-Cookie': 'The cookie of the session.' },
      },
    },
    faults: ['bad-request', 'forbidden', 'unavailable'],
    handle: async ({ params }, call) => {
      const outcome = await signIn.finish(params.provider_id, call.header('cookie'), call.query, call)
      const cookies = [['Set-Cookie', NO_ATTEMPT_COOKIE] as const]
      if (!outcome.ok) return refusalReply(outcome.refusal, call, cookies)
      const { session, returnTo } = outcome
      return pageReply(200, signedInMarkup(returnTo), [
        ...PRIVATE_PAGE,
        ...cookies,
        ['Set-Cookie', session.cookie],
      ])
    },
  }),
]

/** What browsers say in `Sec-Fetch-Site` of a link, a form or a script that is not ours. */
const OF_ANOTHER_SITE = ['cross-site', 'same-site']

/**
 * Another site must not sign anybody in unasked: a provider of its own would make its visitors somebody else here, whose
 * organization would then have what they enter. What the person chooses on this page our own page has caused.
 */
function askedFirstMarkup(issuer: string, providerId: string, returnTo: string): string {
  const here = `/api/v1/sign-in/${encodeURIComponent(providerId)}?return_to=${encodeURIComponent(returnTo)}`
  const asked = `You were sent here to sign in with <code>${escapeMarkup(issuer)}</code>. Who was signed in before in this browser is so no longer then.`
  const link = `<a href="${escapeMarkup(here)}">Sign in</a>`
  return pageMarkup('Sign in', `<h1>Sign in?</h1>\n<p>${asked}</p>\n<p>${link}</p>\n`)
}

/**
 * A page, because another site has caused this call: a browser would send no `SameSite=Strict` cookie with what it is
 * redirected to. The page goes there of its own accord, and then it does.
 */
function signedInMarkup(returnTo: string): string {
  const link = `<a href="${escapeMarkup(returnTo)}">Go on</a>`
  return pageMarkup(
    'Signed in',
    `<h1>Signed in</h1>\n<p>${link}, if the page does not by itself.</p>\n`,
    returnTo,
  )
}

/** For a browser a page; for everything else the error of the interface is thrown. */
function refusalReply(refusal: SignInRefusal, call: HttpCall, headers: HeaderList): Reply {
  const { kind, note } = REFUSALS[refusal]
  if (!call.header('accept').includes('text/html')) {
    throw new Fault(kind, { note, ...(kind === 'unavailable' && { retryAfter: RETRY_SECONDS }) })
  }
  const body = `<h1>Not signed in</h1>\n<p>${escapeMarkup(note)}.</p>\n<p class="soft">Request ${escapeMarkup(call.requestId)}</p>\n`
  return pageReply(gateway.status(kind), pageMarkup('Not signed in', body), [...PRIVATE_PAGE, ...headers])
}
