/** Who calls: contract/gateway 1.2, contract/decisions 3 to 6, 22 and 33. */
import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { AccessLevel } from '../../src/base/access.js'
import { Fault } from '../../src/base/fault.js'
import type { Principal } from '../../src/base/principal.js'
import { hashKey } from '../../src/identity/api-keys.js'
import {
  type AccessTokenVerifier,
  createAuthority,
  type PermissionOverrides,
  readBearerToken,
} from '../../src/identity/authenticate.js'
import type { ApiKey } from '../../src/store/account-store.js'
import { AccountModel } from '../conformance/account-model.js'
import { keyOf } from '../support/data/accounts.js'
import { FakeClock } from '../support/timing/fake-clock.js'
import { gate } from '../support/timing/gate.js'

const KEY = 'sk-sluice-v1-of-the-workspace'
const MANAGEMENT = 'sk-sluice-mgmt-of-the-manager'
const NOTHING: PermissionOverrides = new Map()

interface Bench {
  readonly accounts: AccountModel
  readonly clock: FakeClock
  permissions: PermissionOverrides
  /** The caller, or the message of the refusal; at once. */
  ask(authorization: string, apiKey?: string, access?: AccessLevel, operation?: string): Principal | string
  /** The same where a token has to be verified first. */
  askLater(authorization: string, apiKey?: string, access?: AccessLevel): Promise<Principal | string>
}

function refusalOf(error: unknown): string {
  if (!(error instanceof Fault)) throw error
  return `${error.kind}: ${error.note ?? ''}`
}

async function bench(tokens: AccessTokenVerifier | null = null): Promise<Bench> {
  const accounts = new AccountModel()
  const clock = new FakeClock()
  await accounts.addKey(keyOf(1, { hash: hashKey(KEY) }))
  await accounts.addKey(keyOf(2, { hash: hashKey(MANAGEMENT), kind: 'management', workspaceId: null }))
  const checks = createAuthority(
    accounts,
    clock,
    () => made.permissions,
    tokens === null ? {} : { accessTokens: tokens },
  )
  const made: Bench = {
    accounts,
    clock,
    permissions: NOTHING,
    ask: (authorization, apiKey = '', access = 'key', operation = 'chat') => {
      try {
        const caller = checks.authorize(authorization, apiKey, operation, access)
        if (caller instanceof Promise) throw new Error('this was to be decided at once')
        return caller
      } catch (error) {
        return refusalOf(error)
      }
    },
    askLater: async (authorization, apiKey = '', access = 'key') => {
      const caller = checks.authorize(authorization, apiKey, 'chat', access)
      if (!(caller instanceof Promise)) throw new Error('this was to be waited for')
      return caller.catch(refusalOf)
    },
  }
  return made
}

const MISSING = 'unauthenticated: Missing Authentication header'
const INVALID = 'unauthenticated: '
const FORBIDDEN = 'forbidden: Only management keys can perform this operation'

function lets(t: Test, answer: Principal | string, key: string, about: string): void {
  t.match(answer, { keyHash: hashKey(key) }, about)
}

const GOOD: readonly (readonly [about: string, authorization: string, apiKey?: string])[] = [
  ['a bearer', `Bearer ${KEY}`],
  ['a scheme in small letters', `bearer ${KEY}`],
  ['a scheme in capitals', `BEARER ${KEY}`],
  ['a scheme in mixed letters', `bEaReR ${KEY}`],
  ['several spaces after the scheme', `Bearer    ${KEY}`],
  ['x-api-key where there is no Authorization', '', KEY],
  ['a bearer beside a wrong x-api-key', `Bearer ${KEY}`, 'wrong'],
]

for (const [about, authorization, apiKey] of GOOD) {
  test(`${about} is let in`, async (t) => {
    const { ask } = await bench()
    lets(t, ask(authorization, apiKey), KEY, about)
  })
}

const BAD: readonly (readonly [about: string, authorization: string, apiKey?: string])[] = [
  ['an unknown key', 'Bearer sk-sluice-v1-unknown'],
  ['the hash of a key', `Bearer ${hashKey(KEY)}`],
  ['a key without its last character', `Bearer ${KEY.slice(0, -1)}`],
  ['a key in capitals', `Bearer ${KEY.toUpperCase()}`],
  ['a scheme without a token', 'Bearer'],
  ['a scheme and spaces', 'Bearer   '],
  ['a key without a scheme', KEY],
  ['a key that touches its scheme', `Bearer${KEY}`],
  ['another scheme', `Basic ${KEY}`],
  ['a scheme that begins alike', `Bearers ${KEY}`],
  ['a tab after the scheme', `Bearer\t${KEY}`],
  ['a tab among the spaces', `Bearer \t ${KEY}`],
  ['a tab before the scheme', `\tBearer ${KEY}`],
  ['a colon after the scheme', `Bearer: ${KEY}`],
  ['a quoted key', `Bearer "${KEY}"`],
  ['two keys with a space', `Bearer ${KEY} ${KEY}`],
  ['two credentials with a comma', `Bearer ${KEY}, Bearer ${KEY}`],
  ['a parameter after the key', `Bearer ${KEY}; realm=x`],
  ['a space no-break', `Bearer\u00a0${KEY}`],
  ['letters beyond ASCII', `Bearer ${KEY}é`],
  ['a scheme whose letters only look alike', `Вearer ${KEY}`],
  ['a zero byte', `Bearer ${KEY}\0`],
  ['16 KiB', `Bearer ${'x'.repeat(16 * 1024)}`],
  ['a bad Authorization beside a good x-api-key', 'Basic abc', KEY],
  ['an unknown x-api-key', '', 'unknown'],
  ['an x-api-key with a scheme', '', `Bearer ${KEY}`],
  ['an x-api-key with a space in it', '', `${KEY} ${KEY}`],
]

for (const [about, authorization, apiKey] of BAD) {
  test(`${about} is refused as invalid`, async (t) => {
    const { ask } = await bench()
    t.equal(ask(authorization, apiKey), INVALID)
  })
}

test('no credential at all is told apart from a wrong one', async (t) => {
  t.equal((await bench()).ask('', ''), MISSING)
})

const STATES: readonly (readonly [state: string, change: Partial<ApiKey>])[] = [
  ['disabled', { disabled: true }],
  ['deleted', { deletedAt: 1 }],
  ['expired', { expiresAt: 1_700_000_000_000 }],
]

for (const [state, change] of STATES) {
  test(`a ${state} key is refused as an unknown one is, from the next call on`, async (t) => {
    const { accounts, ask } = await bench()
    lets(t, ask(`Bearer ${KEY}`), KEY, 'before')
    await accounts.changeKey(hashKey(KEY), (key) => ({ ...key, ...change }))
    t.equal(ask(`Bearer ${KEY}`), INVALID)
    t.equal(ask('', KEY), INVALID)
    lets(t, ask(`Bearer ${MANAGEMENT}`), MANAGEMENT, 'others are let in')
  })
}

test('a key expires in the moment it says, without anybody touching it', async (t) => {
  const { accounts, clock, ask } = await bench()
  const end = clock.unixSeconds() * 1000 + 500
  await accounts.changeKey(hashKey(KEY), (key) => ({ ...key, expiresAt: end }))
  clock.advance(499)
  lets(t, ask(`Bearer ${KEY}`), KEY, 'one millisecond before')
  clock.advance(1)
  t.equal(ask(`Bearer ${KEY}`), INVALID)
})

test('a key that is enabled again is let in again', async (t) => {
  const { accounts, ask } = await bench()
  for (const disabled of [true, false, true, false]) {
    await accounts.changeKey(hashKey(KEY), (key) => ({ ...key, disabled }))
    const answer = ask(`Bearer ${KEY}`)
    if (disabled) t.equal(answer, INVALID)
    else lets(t, answer, KEY, 'enabled')
  }
})

test('management operations are for management keys, everything else is for both', async (t) => {
  const { ask } = await bench()
  t.equal(ask(`Bearer ${KEY}`, '', 'management'), FORBIDDEN)
  lets(t, ask(`Bearer ${MANAGEMENT}`, '', 'management'), MANAGEMENT, 'management')
  lets(t, ask(`Bearer ${MANAGEMENT}`, '', 'key'), MANAGEMENT, 'inference')
  t.equal(ask('Bearer unknown', '', 'management'), INVALID, 'who one is comes before what one may')
})

test('the configuration may open an operation to ordinary keys or close it, and be changed meanwhile', async (t) => {
  const all = await bench()
  all.permissions = new Map([
    ['transcribe', 'key'],
    ['chat', 'management'],
  ])
  lets(t, all.ask(`Bearer ${KEY}`, '', 'management', 'transcribe'), KEY, 'opened')
  t.equal(all.ask(`Bearer ${KEY}`, '', 'key', 'chat'), FORBIDDEN, 'closed')
  t.equal(all.ask(`Bearer ${KEY}`, '', 'management', 'list_keys'), FORBIDDEN, 'not named')
  all.permissions = NOTHING
  t.equal(all.ask(`Bearer ${KEY}`, '', 'management', 'transcribe'), FORBIDDEN, 'closed again')
})

test('the principal says whose key it is, and is one frozen object per state of the key', async (t) => {
  const { accounts, ask } = await bench()
  const first = ask(`Bearer ${MANAGEMENT}`)
  t.strictSame(first, {
    keyHash: hashKey(MANAGEMENT),
    kind: 'management',
    organizationId: keyOf(2).organizationId,
    workspaceId: null,
    operator: false,
  })
  t.ok(Object.isFrozen(first))
  t.equal(ask(`bearer  ${MANAGEMENT}`), first)
  await accounts.changeKey(hashKey(MANAGEMENT), (key) => ({ ...key, operator: true }))
  t.match(ask(`Bearer ${MANAGEMENT}`), { operator: true })
})

test('a signed token stands for the key its verifier names, whose state counts', async (t) => {
  const asked: string[] = []
  const { ask } = await bench({
    keyHashOf: (token) => {
      asked.push(token)
      return token === 'good.access.token' ? hashKey(KEY) : token === 'of.no.key' ? hashKey('nobody') : null
    },
  })
  lets(t, ask('Bearer good.access.token'), KEY, 'by Authorization')
  lets(t, ask('', 'good.access.token'), KEY, 'by x-api-key')
  t.equal(ask('Bearer bad.access.token'), INVALID)
  t.equal(ask('Bearer of.no.key'), INVALID)
  t.equal(ask('Bearer good.access.token', '', 'management'), FORBIDDEN)
  asked.length = 0
  for (const other of ['a.b', 'a.b.c.d', 'nodots', '..', `Bearer ${KEY}`]) ask(`Bearer ${other}`)
  t.strictSame(asked, [], 'what is no signed token is not tried')
})

for (const [state, change] of STATES) {
  test(`a signed token is refused once the key it stands for is ${state}`, async (t) => {
    const { accounts, ask } = await bench({ keyHashOf: () => hashKey(KEY) })
    lets(t, ask('Bearer good.access.token'), KEY, 'before')
    await accounts.changeKey(hashKey(KEY), (key) => ({ ...key, ...change }))
    t.equal(ask('Bearer good.access.token'), INVALID)
  })
}

test('a signed token that has to be verified first is judged by the state its key is in afterwards', async (t) => {
  const verified = gate<string | null>()
  const { accounts, ask, askLater } = await bench({
    keyHashOf: (token) => (token === 'slow.access.token' ? verified.opened : Promise.resolve(null)),
  })
  const first = askLater('Bearer slow.access.token')
  const second = askLater('', 'slow.access.token', 'management')
  lets(t, ask(`Bearer ${KEY}`), KEY, 'a key waits for no token')
  verified.open(hashKey(KEY))
  lets(t, (await first) as Principal, KEY, 'by Authorization')
  t.equal(await second, FORBIDDEN)
  t.equal(await askLater('Bearer bad.access.token'), INVALID)
  const third = askLater('Bearer slow.access.token')
  await accounts.changeKey(hashKey(KEY), (key) => ({ ...key, disabled: true }))
  t.equal(await third, INVALID, 'the key was disabled meanwhile')
})

test('a signed token never stands for a management key', async (t) => {
  const { ask } = await bench({ keyHashOf: () => hashKey(MANAGEMENT) })
  t.equal(ask('Bearer any.access.token'), INVALID)
  t.equal(ask('Bearer any.access.token', '', 'management'), INVALID)
  const { askLater } = await bench({ keyHashOf: async () => hashKey(MANAGEMENT) })
  t.equal(await askLater('Bearer any.access.token'), INVALID)
})

test('an operation for keys themselves takes no token that acts for one, unless the configuration says so', async (t) => {
  const all = await bench({ keyHashOf: () => hashKey(KEY) })
  const { ask } = all
  lets(t, ask(`Bearer ${KEY}`, '', 'own-key'), KEY, 'the key')
  lets(t, ask('Bearer an.access.token'), KEY, 'the token, elsewhere')
  const refused = 'forbidden: Access tokens cannot perform this operation'
  t.equal(ask('Bearer an.access.token', '', 'own-key'), refused)
  const { askLater } = await bench({ keyHashOf: async (token) => (token === 'a.b.c' ? hashKey(KEY) : null) })
  t.equal(await askLater('Bearer a.b.c', '', 'own-key'), refused)
  t.equal(await askLater('Bearer x.y.z', '', 'own-key'), INVALID, 'a bad one is told as everywhere')
  t.equal(ask('Bearer nobody', '', 'own-key'), INVALID)
  all.permissions = new Map([['chat', 'key']])
  lets(t, ask('Bearer an.access.token', '', 'own-key'), KEY, 'a row wins')
})

test('an access token may be longer than a key', async (t) => {
  const long = `a.${'b'.repeat(2000)}.c`
  const { ask } = await bench({ keyHashOf: (token) => (token === long ? hashKey(KEY) : null) })
  lets(t, ask(`Bearer ${long}`), KEY, 'long')
})

const token = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((c) => String.fromCharCode(c)),
  minLength: 1,
})
const scheme = fc.mixedCase(fc.constant('bearer'))

test('a bearer is the scheme in any case, spaces, and a token as it stands', async () => {
  fc.assert(
    fc.property(scheme, fc.integer({ min: 1, max: 9 }), token, (name, spaces, text) => {
      return readBearerToken(name + ' '.repeat(spaces) + text) === text
    }),
  )
})

test('whatever the header says, a bearer has no other form', async () => {
  const RFC = /^bearer +([\x21-\x7e]+)$/i
  const near = fc
    .array(fc.constantFrom('Bearer', 'bearer', ' ', '\t', 'é', 'a.b.c', '\0', ',', '"', KEY, '\u212a', '\n'))
    .map((parts) => parts.join(''))
  const any = fc.oneof(
    near,
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary' }).map((s) => `Bearer ${s}`),
  )
  fc.assert(
    fc.property(any, (header) => readBearerToken(header) === (RFC.exec(header)?.[1] ?? null)),
    { numRuns: 2000 },
  )
})
