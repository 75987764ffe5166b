/** contract/directory 2: lists, as RFC 7644 sections 3.4.2 and 3.4.3 have them. */
import { test } from 'tap'
import { USER } from '../../support/schemas/scim-bodies.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer()
const NAMES = ['delta', 'Alpha', 'charlie', 'Bravo', 'echo']

/** A directory with people of these names. Each test has its own: one may make fifty calls at once, whatever the machine. */
async function populated() {
  const directory = await server.directory()
  const { ask } = directory
  for (const [at, userName] of NAMES.entries()) {
    await directory.user({
      userName,
      externalId: `e-${at}`,
      active: at % 2 === 0,
      name: { familyName: `Family ${at}` },
      emails: [{ value: `${userName}@example.com`, type: at < 3 ? 'work' : 'home' }],
    })
  }
  const list = async (query: string): Promise<Json> => {
    const reply = await ask('GET', `/Users${query === '' ? '' : `?${query}`}`)
    if (reply.status !== 200) throw new Error(`${query}: ${reply.text}`)
    return reply.json
  }
  const found = async (filter: string): Promise<string[]> =>
    namesOf(await list(`filter=${encodeURIComponent(filter)}`))
  return { ask, list, found }
}

const namesOf = ({ Resources }: Json): string[] => Resources.map(({ userName }: Json) => userName)

test('a page says what it is, and begins and ends where it was asked to', async (t) => {
  const { ask, list } = await populated()
  const { Resources, ...envelope } = await list('')
  t.strictSame(envelope, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: 5,
    startIndex: 1,
    itemsPerPage: 5,
  })
  t.strictSame(namesOf({ Resources }), NAMES, 'oldest first')
  for (const [query, names, startIndex] of [
    ['count=2', NAMES.slice(0, 2), 1],
    ['startIndex=2&count=2', NAMES.slice(1, 3), 2],
    ['startIndex=5', NAMES.slice(4), 5],
    ['startIndex=6', [], 6],
    ['startIndex=4294967297', [], 4_294_967_297],
    ['startIndex=0', NAMES, 1],
    ['startIndex=-3&count=1', NAMES.slice(0, 1), 1],
    ['count=0', [], 1],
    ['count=-1', [], 1],
    ['count=100000', NAMES, 1],
  ] as const) {
    const page = await list(query)
    t.strictSame(namesOf(page), names, query)
    t.match(page, { totalResults: 5, startIndex, itemsPerPage: names.length }, query)
  }
  for (const query of ['count=x', 'startIndex=1.5', 'count=']) {
    const { json } = await ask('GET', `/Users?${query}`)
    t.match(json, { status: '400', scimType: 'invalidSyntax' }, query)
  }
})

test('filters find by every operator, with the case rules of each attribute', async (t) => {
  const { found } = await populated()
  for (const [filter, names] of [
    ['userName eq "ALPHA"', ['Alpha']],
    ['externalId eq "e-1"', ['Alpha']],
    ['externalId eq "E-1"', []],
    ['userName sw "b"', ['Bravo']],
    ['userName co "l"', ['delta', 'Alpha', 'charlie']],
    ['userName ew "O"', ['Bravo', 'echo']],
    ['userName ne "alpha"', ['delta', 'charlie', 'Bravo', 'echo']],
    ['userName gt "charlie"', ['delta', 'echo']],
    ['active eq true', ['delta', 'charlie', 'echo']],
    ['active eq true and userName ge "d"', ['delta', 'echo']],
    ['not (active eq true)', ['Alpha', 'Bravo']],
    ['emails[type eq "home" and value co "bravo"]', ['Bravo']],
    ['emails.type eq "home" or name.familyName eq "family 0"', ['delta', 'Bravo', 'echo']],
    ['title pr', []],
    ['meta.resourceType eq "User" and externalId pr', NAMES],
    [`${USER}:userName eq "echo"`, ['echo']],
    ['userName eq "nobody"', []],
  ] as const) {
    t.strictSame(await found(filter), names, filter)
  }
})

test('what is no filter is 400, and says so', async (t) => {
  const { ask } = await populated()
  for (const filter of [
    'userName',
    'userName eq',
    'userName is "x"',
    '(userName eq "x"',
    'userName eq "x" and',
    'emails[type eq "work"',
    'nonsense eq "x"',
    `${'('.repeat(500)}userName pr${')'.repeat(500)}`,
    `userName eq "${'x'.repeat(20_000)}"`,
    Array.from({ length: 5_000 }, () => 'active eq true')
      .join(' or ')
      .slice(0, 12_000),
  ]) {
    const reply = await ask('POST', '/Users/.search', { body: { filter } })
    t.match(reply.json, { status: '400', scimType: 'invalidFilter' }, filter.slice(0, 40))
  }
})

test('a filter pages over what it finds', async (t) => {
  const { list } = await populated()
  const query = `filter=${encodeURIComponent('userName co "a"')}`
  const all = ['delta', 'Alpha', 'charlie', 'Bravo']
  t.strictSame(namesOf(await list(query)), all)
  const page = await list(`${query}&startIndex=2&count=2`)
  t.strictSame(namesOf(page), all.slice(1, 3))
  t.match(page, { totalResults: 4, startIndex: 2, itemsPerPage: 2 })
})

test('lists are sorted as asked, and then paged', async (t) => {
  const { ask, list } = await populated()
  const sorted = ['Alpha', 'Bravo', 'charlie', 'delta', 'echo']
  t.strictSame(namesOf(await list('sortBy=userName')), sorted)
  t.strictSame(namesOf(await list('sortBy=userName&sortOrder=descending')), sorted.toReversed())
  t.strictSame(namesOf(await list('sortBy=userName&startIndex=2&count=2')), sorted.slice(1, 3))
  t.strictSame(namesOf(await list('sortBy=name.familyName&sortOrder=ascending')), NAMES)
  const reply = await ask('GET', '/Users?sortBy=nonsense')
  t.equal(reply.status, 400)
})

test('answers show the attributes that were asked for, and always the id', async (t) => {
  const { list } = await populated()
  for (const [query, keys] of [
    ['attributes=userName', ['id', 'schemas', 'userName']],
    ['attributes=emails.value,NAME', ['emails', 'id', 'name', 'schemas']],
    ['excludedAttributes=emails,name,meta,externalId,active', ['id', 'schemas', 'userName']],
    ['excludedAttributes=id,schemas,emails,name,meta,externalId,active', ['id', 'schemas', 'userName']],
  ] as const) {
    const { Resources } = await list(`count=1&${query}`)
    t.strictSame(Object.keys(Resources[0]).sort(), keys, query)
  }
})

test('a search in a body finds what a query finds', async (t) => {
  const { ask } = await populated()
  const body = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
    filter: 'userName co "a"',
    sortBy: 'userName',
    sortOrder: 'descending',
    startIndex: 1,
    count: 2,
    attributes: ['userName'],
  }
  const { json } = await ask('POST', '/Users/.search', { body })
  t.match(json, { totalResults: 4, itemsPerPage: 2 })
  t.strictSame(namesOf(json), ['delta', 'charlie'])
  t.notOk('active' in json.Resources[0])
  t.equal((await ask('POST', '/Groups/.search', { body: {} })).json.totalResults, 0)
  for (const wrong of [{ count: 'x' }, { filter: 5 }, { attributes: 'userName' }, []])
    t.match((await ask('POST', '/Users/.search', { body: wrong })).json, { scimType: 'invalidSyntax' })
})
