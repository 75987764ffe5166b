/** Sessions of browsers: a management key becomes a cookie that no script can read. */
import { z } from 'zod'
import { type Clock, isoTime, unixMs } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { actorOfCaller, changeAuditRow } from '../../federation/audit-log.js'
import { DeletedAnswer, dataAnswer, pageAnswer, recordEncoder } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { idParam } from '../../http/params.js'
import { deletedReply, jsonReply, NO_STORE } from '../../http/reply.js'
import type { People } from '../../identity/people.js'
import { reachOf, roleIn } from '../../identity/reach.js'
import { isFromOurPages, isSecurePlace, NO_SESSION_COOKIE } from '../../identity/session-cookie.js'
import type { Sessions } from '../../identity/sessions.js'
import type { AccountStore } from '../../store/account-store.js'
import type { DirectoryMembers } from '../../store/directory-store.js'
import type { FederationAuditRow } from '../../store/federation-store.js'
import type { Session as SessionRecord } from '../../store/session-store.js'

export interface SessionPorts {
  readonly sessions: Sessions
  readonly accounts: Pick<AccountStore, 'organization' | 'workspacesOf' | 'key'>
  readonly people: People
  readonly members: Pick<DirectoryMembers, 'member'>
  readonly clock: Clock
  readonly audit: (row: FederationAuditRow) => void
  /** How browsers reach us. */
  readonly place: { readonly baseUrl: string; readonly hasTls: boolean }
  /** Where programs reach the API; null for wherever the caller has reached it. */
  readonly apiUrl: string | null
}

const Session = nameSchema(
  'Session',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    key_hash: z.string().nullable().meta({ description: 'The key it acts as; null for that of a member.' }),
    member_id: z.string().nullable(),
    name: z.string().nullable().meta({ description: 'Of the key, or the user name of the member.' }),
    provider_id: z.string().nullable().meta({ description: 'Where the member signed in.' }),
    address: z.string(),
    created_at: z.string(),
    expires_at: z.string(),
  }),
)
const encodeRecord = recordEncoder(Session)

/** One whose key or member has gone has no name. */
const encoderFor =
  ({ accounts, members }: SessionPorts) =>
  (session: SessionRecord): z.infer<typeof Session> => {
    const { hash, keyHash, memberId } = session
    const name =
      keyHash === null ? (members.member(memberId!)?.userName ?? null) : (accounts.key(keyHash)?.name ?? null)
    return encodeRecord({ ...session, id: hash, name })
  }

const WhoAmI = nameSchema(
  'WhoAmI',
  z.object({
    kind: z.enum(['management', 'member', 'personal', 'workspace']),
    operator: z.boolean(),
    organization: z.object({ id: z.string(), name: z.string() }),
    member: z
      .object({ id: z.string(), user_name: z.string() })
      .nullable()
      .meta({ description: 'Who it is, where that is a member of the directory.' }),
    workspaces: z
      .array(z.object({ id: z.string(), name: z.string(), role: z.enum(['admin', 'member']) }))
      .meta({ description: 'Where the caller has a role; management is as good as an admin of each.' }),
    session: z
      .object({ id: z.string(), expires_at: z.string() })
      .nullable()
      .meta({ description: 'Null for a call with a key.' }),
    api_url: z.string().nullable().meta({
      description:
        'Where programs reach the API: below SLUICE_PUBLIC_URL, or where the server listens when the console has an address of its own. Null when that is the address that was called.',
    }),
  }),
)

const operation = endpointGroup({ tag: 'Sign-in', dialect: gateway, access: 'member' })
const SetCookie = { 'Set-Cookie': 'The cookie of the session; `__Host-`, `HttpOnly` and `SameSite=Strict`.' }

export const sessionEndpoints = (ports: SessionPorts): Endpoint[] => [
  operation('create_session', 'POST /api/v1/session', {
    summary: 'Sign in with a management key: a cookie that acts as the key, for 8 hours',
    access: 'management',
    sessions: false,
    readsAddress: true,
    headers: ['host', 'origin', 'sec-fetch-site', 'x-forwarded-proto'],
    replies: { 201: { description: 'The session', schema: dataAnswer(Session), headers: SetCookie } },
    faults: ['unavailable'],
    handle: async ({ caller }, call) => {
      requirePlace(call, ports.place)
      const { session, cookie } = await ports.sessions.beginForKey(caller, call.address)
      tell(ports, caller, 'session.create', call)
      return jsonReply(201, { data: encoderFor(ports)(session) }, [...NO_STORE, ['Set-Cookie', cookie]])
    },
  }),
  operation('read_session', 'GET /api/v1/session', {
    summary: 'Read who the caller is and where it has a role',
    replies: { 200: { description: 'Who it is', schema: dataAnswer(WhoAmI) } },
    handle: ({ caller }, call) => jsonReply(200, { data: whoAmI(ports, caller, call) }, NO_STORE),
  }),
  operation('delete_session', 'DELETE /api/v1/session', {
    summary: 'Sign out',
    readsAddress: true,
    replies: {
      200: { description: 'The session has ended, everywhere', schema: DeletedAnswer, headers: SetCookie },
    },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller }, call) => {
      const session = sessionOf(ports, call)
      const deleted = session !== null && (await ports.sessions.end(caller, session.hash))
      if (deleted) tell(ports, caller, 'session.delete', call)
      const { status, headers, body } = deletedReply(deleted)
      return { status, headers: [...headers, ['Set-Cookie', NO_SESSION_COOKIE]], body }
    },
  }),
  operation('list_sessions', 'GET /api/v1/sessions', {
    summary: 'List sessions, newest first: those of the organization, or of a member its own',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of sessions', schema: pageAnswer(Session) } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(ports.sessions.list(caller), query, encoderFor(ports))),
  }),
  operation('revoke_session', 'DELETE /api/v1/sessions/{id}', {
    summary: 'End a session, everywhere',
    readsAddress: true,
    params: { id: idParam('Id of the session.') },
    replies: { 200: { description: 'It has ended', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      const deleted = await ports.sessions.end(caller, params.id)
      if (deleted) tell(ports, caller, 'session.delete', call)
      return deletedReply(deleted)
    },
  }),
]

/** The session that a call was admitted by; null where that was a key. */
function sessionOf({ sessions }: SessionPorts, call: HttpCall) {
  const hasKey = call.header('authorization') !== '' || call.header('x-api-key') !== ''
  return hasKey ? null : sessions.ofCookies(call.header('cookie'))
}

/** A page of another site must not sign a browser in, nor may a browser be given a cookie that it would drop. */
function requirePlace(call: HttpCall, place: SessionPorts['place']): void {
  const isBrowser = call.header('sec-fetch-site') !== '' || call.header('origin') !== ''
  const facts = { method: 'POST', header: (name: string) => call.header(name) }
  if (isBrowser && !isFromOurPages(facts, place.baseUrl)) {
    throw new Fault('forbidden', { note: 'A page of another site cannot sign in here' })
  }
  const asked = { host: call.header('host'), forwardedProto: call.header('x-forwarded-proto') }
  if (!isSecurePlace(asked, place)) throw new Fault('bad-request', { note: INSECURE_PLACE })
}

export const INSECURE_PLACE =
  'Sign-in needs https: a browser drops the cookie of a session that comes in the clear. Put a TLS proxy in front, which says so by X-Forwarded-Proto or SLUICE_PUBLIC_URL, set SLUICE_TLS_KEY and SLUICE_TLS_CERT, or sign in on this machine by its loopback address'

function tell(
  { audit, clock }: SessionPorts,
  caller: Principal,
  action: 'session.create' | 'session.delete',
  call: HttpCall,
): void {
  audit(
    changeAuditRow(actorOfCaller(caller, call), action, unixMs(clock), { keyHash: caller.keyHash || null }),
  )
}

function whoAmI(ports: SessionPorts, caller: Principal, call: HttpCall): z.infer<typeof WhoAmI> {
  const { accounts, people, members } = ports
  const { kind, operator, organizationId, userId } = caller
  const organization = accounts.organization(organizationId)!
  const member = userId === undefined ? null : members.member(userId)
  const reach = reachOf(caller, people.roles)
  const workspaces = accounts.workspacesOf(organizationId).flatMap(({ id, name }) => {
    const role = roleIn(reach, id)
    return role === null ? [] : [{ id, name, role }]
  })
  const session = sessionOf(ports, call)
  return {
    kind: kind as z.infer<typeof WhoAmI>['kind'],
    operator,
    organization: { id: organization.id, name: organization.name },
    // A personal key may name anything; people of another organization are nobody here.
    member: member?.organizationId !== organizationId ? null : { id: member.id, user_name: member.userName },
    workspaces,
    session: session && { id: session.hash, expires_at: isoTime(session.expiresAt) },
    api_url: ports.apiUrl,
  }
}
