/** Okta's public suite for SCIM 2.0. It is not part of this project: `SLUICE_OKTA_SUITE` names the file. */
import { readFileSync } from 'node:fs'
import tap, { test } from 'tap'
import { runSuite } from '../../support/clients/runscope.js'
import { SCIM, scimServer } from '../../support/servers/scim-server.js'

const PATH = process.env.SLUICE_OKTA_SUITE ?? ''
const SKIP = PATH === '' ? { skip: 'SLUICE_OKTA_SUITE names no suite' } : {}

/** Assertions that are not looked at, by where they get their value, and why. */
const LEFT_OUT = new Map([
  ['response_time', 'the time of an answer is that of the machine; trials measure it'],
])

test("Okta's suite", { timeout: 60_000, ...SKIP }, async (t) => {
  const server = await scimServer()
  const { token, user } = await server.directory()
  // It wants somebody to be there already.
  const [givenName, familyName] = ['Grace', 'Hopper']
  const person = { name: { givenName, familyName }, emails: [{ value: 'grace@example.com', primary: true }] }
  await user({ userName: 'grace', ...person })
  const variables = {
    SCIMBaseURL: server.baseUrl + SCIM,
    auth: `Bearer ${token}`,
    InvalidUserEmail: 'nobody@example.com',
    UserIdThatDoesNotExist: '010101001010101011001010101011',
    randomEmail: 'ada@example.com',
    randomUsername: 'ada.lovelace@example.com',
    randomUsernameCaps: 'ADA.LOVELACE@EXAMPLE.COM',
    randomGivenName: 'Ada',
    randomFamilyName: 'Lovelace',
  }
  const suite = JSON.parse(readFileSync(PATH, 'utf8'))
  let looked = 0
  for await (const { step, what, fault } of runSuite(suite, variables, new Set(LEFT_OUT.keys()))) {
    t.equal(fault, null, `${step}: ${what}`)
    looked++
  }
  t.ok(looked > 0)
})

tap.comment(`left out: ${[...LEFT_OUT].map((each) => each.join(', ')).join('; ')}`)
