/** contract/practice 2: every rule of every body field, one table per field. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { words } from '../../support/data/words.js'
import { BODY_OPERATIONS, ITEM_OPERATIONS } from '../../support/models/practice-operations.js'
import { refused, type Violation, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { client } = await practiceServer()
await client.write('POST', '/api/v1/items', { name: 'item 1' })

const NAME = ['body', 'name']
const DESCRIPTION = ['body', 'description']
const PRICE = ['body', 'price']
const DATA = ['body', 'data']
const ROUNDS = ['body', 'rounds']

/** A value as it is written in JSON, and what is wrong with it. */
type Row = readonly [json: string, violation: Violation]

/** Values of every JSON type but strings. */
const NO_STRINGS = ['null', 'true', 'false', '0', '1.5', '1e400', '[]', '["x"]', '{}', '{"x":1}']
/** Values of every JSON type but numbers; text is never taken for a number. */
const NO_NUMBERS = ['null', 'true', 'false', '""', '"5"', '"abc"', '"1e1"', '[]', '[5]', '{}']

function rows(values: readonly string[], of: Violation): Row[] {
  return values.map((json) => [json, of])
}

function text(length: number): string {
  return JSON.stringify('x'.repeat(length))
}

const NAME_ROWS: readonly Row[] = [
  ...rows(NO_STRINGS, violation.noString(NAME)),
  ['""', violation.tooShort(NAME, 1)],
  [text(101), violation.tooLong(NAME, 100)],
  [text(5000), violation.tooLong(NAME, 100)],
]

const DESCRIPTION_ROWS: readonly Row[] = [
  ...rows(NO_STRINGS, violation.noString(DESCRIPTION)),
  [text(1001), violation.tooLong(DESCRIPTION, 1000)],
  [text(50_000), violation.tooLong(DESCRIPTION, 1000)],
]

const PRICE_ROWS: readonly Row[] = [
  ...rows(NO_NUMBERS, violation.noNumber(PRICE)),
  ...rows(['-1', '-0.01', '-1e-300', '-1e400', '-1e30'], violation.atLeast(PRICE, 0)),
  ...rows(
    [
      '1000001',
      '1000000.01',
      '1000000.0000000001',
      '1e7',
      '9007199254740993',
      '1e30',
      '1e400',
      '9'.repeat(400),
    ],
    violation.atMost(PRICE, 1_000_000),
  ),
]

const DATA_ROWS: readonly Row[] = [
  ...rows(NO_STRINGS, violation.noString(DATA)),
  [text(1001), violation.tooLong(DATA, 1000)],
]

const ROUNDS_ROWS: readonly Row[] = [
  ...rows(NO_NUMBERS, violation.noInteger(ROUNDS)),
  ...rows(['1.5', '0.5', '-0.5', '1e-1', '-1e-300', '199999.5', '200000.5'], violation.fraction(ROUNDS)),
  ...rows(['0', '-0', '0.0', '-1', '-1e400', '-9007199254740993', '-1e30'], violation.atLeast(ROUNDS, 1)),
  ...rows(
    ['200001', '2e5001', '1e6', '9007199254740993', '18446744073709551616', '1e30', '1e400', '9'.repeat(400)],
    violation.atMost(ROUNDS, 200_000),
  ),
]

function send(operation: { method: string; path: string }, body: string): Promise<HttpReply> {
  const headers = { 'Content-Type': 'application/json' }
  return client.send({ method: operation.method, path: operation.path, headers, body })
}

for (const operation of ITEM_OPERATIONS) {
  const { name, success } = operation
  const ask = (body: string): Promise<HttpReply> => send(operation, body)

  test(`${name} requires a name`, async (t) => {
    for (const body of ['{}', '{"description":"x","price":1}', '{"Name":"x"}', '{"name ":"x"}']) {
      refused(t, await ask(body), [violation.missing(NAME)], body)
    }
  })

  test(`${name} checks the name`, async (t) => {
    for (const [json, expected] of NAME_ROWS) refused(t, await ask(`{"name":${json}}`), [expected], json)
  })

  test(`${name} checks the description`, async (t) => {
    for (const [json, expected] of DESCRIPTION_ROWS) {
      refused(t, await ask(`{"name":"x","description":${json}}`), [expected], json)
    }
  })

  test(`${name} checks the price`, async (t) => {
    for (const [json, expected] of PRICE_ROWS) {
      refused(t, await ask(`{"name":"x","price":${json}}`), [expected], json)
    }
  })

  test(`${name} takes every price within the bounds, in any JSON spelling`, async (t) => {
    const spellings = words('0 0.0 0e10 -0 1 1e3 1E3 1e+3 1000e-3 0.1 999999.99 1000000')
    const precise = ['1e6', '1000000.0', '123456.789012345', '5e-324', '0.30000000000000004']
    for (const json of [...spellings, ...precise]) {
      const reply = await ask(`{"name":"x","price":${json}}`)
      t.equal(reply.status, success, json)
      t.equal((reply.json as { price: number }).price, Number(json) + 0, json)
    }
  })

  test(`${name} lists all violations of a body at once, in the order of the fields`, async (t) => {
    const all = [violation.noString(NAME), violation.noString(DESCRIPTION), violation.noNumber(PRICE)]
    refused(t, await ask('{"name":1,"description":2,"price":"3"}'), all, 'types')
    refused(t, await ask('{"price":"3","description":2,"name":1}'), all, 'types, other order')
    refused(t, await ask('{"name":null,"description":null,"price":null}'), all, 'nulls')
    const bounds = [
      violation.tooShort(NAME, 1),
      violation.tooLong(DESCRIPTION, 1000),
      violation.atLeast(PRICE, 0),
    ]
    refused(t, await ask(`{"name":"","description":${text(1001)},"price":-1}`), bounds, 'bounds')
    const some = [violation.missing(NAME), violation.atMost(PRICE, 1_000_000)]
    refused(t, await ask('{"price":1e400}'), some, 'a missing field and a bound')
  })
}

const HASH = BODY_OPERATIONS.find(({ name }) => name === 'hash')!

test('hash requires data', async (t) => {
  for (const body of ['{}', '{"rounds":1}', '{"Data":"x"}']) {
    refused(t, await send(HASH, body), [violation.missing(DATA)], body)
  }
})

test('hash checks the data', async (t) => {
  for (const [json, expected] of DATA_ROWS) refused(t, await send(HASH, `{"data":${json}}`), [expected], json)
})

test('hash checks the rounds', async (t) => {
  for (const [json, expected] of ROUNDS_ROWS) {
    refused(t, await send(HASH, `{"data":"x","rounds":${json}}`), [expected], json)
  }
})

test('hash takes every whole number of rounds within the bounds, in any JSON spelling', async (t) => {
  for (const json of words('1 1.0 2 1e1 1E1 10.00e0 100e-1 0.5e1 199999 200000 2e5')) {
    const reply = await send(HASH, `{"data":"x","rounds":${json}}`)
    t.equal(reply.status, 200, json)
    t.equal((reply.json as { rounds: number }).rounds, Number(json), json)
  }
})

test('hash lists all violations of a body at once', async (t) => {
  const types = [violation.noString(DATA), violation.noInteger(ROUNDS)]
  refused(t, await send(HASH, '{"rounds":"1","data":1}'), types, 'types')
  const others = [violation.missing(DATA), violation.fraction(ROUNDS)]
  refused(t, await send(HASH, '{"rounds":1.5}'), others, 'a missing field and a fraction')
})

for (const operation of BODY_OPERATIONS) {
  test(`${operation.name} refuses JSON that is no object`, async (t) => {
    const values = [
      'null',
      'true',
      'false',
      '0',
      '1e400',
      '"x"',
      '""',
      '[]',
      '[{"name":"x","data":"x"}]',
      ' null ',
    ]
    for (const json of values) refused(t, await send(operation, json), [violation.noObject(['body'])], json)
  })

  test(`${operation.name} refuses an empty body as missing`, async (t) => {
    refused(t, await send(operation, ''), [violation.missing(['body'])], 'Content-Length: 0')
    const { method, path } = operation
    refused(t, await client.send({ method, path }), [violation.missing(['body'])], 'no body at all')
  })
}

test('violations of path and body are listed together, the path first', async (t) => {
  const path = violation.noIntegerText(['path', 'item_id'])
  const cases: readonly [string, readonly Violation[]][] = [
    ['', [violation.missing(['body'])]],
    ['{"price":-1}', [violation.missing(NAME), violation.atLeast(PRICE, 0)]],
    ['null', [violation.noObject(['body'])]],
    ['{"name":"x",}', [violation.noJson(12)]],
    ['{"name":"x"}', []],
  ]
  for (const [body, others] of cases) {
    refused(t, await send({ method: 'PUT', path: '/api/v1/items/abc' }, body), [path, ...others], body)
  }
})

test('a bad body for an unknown id is 422, not 404', async (t) => {
  for (const id of ['999999', '-1', '9007199254740993']) {
    const target = { method: 'PUT', path: `/api/v1/items/${id}` }
    refused(t, await send(target, '{}'), [violation.missing(NAME)], id)
    t.equal((await send(target, '{"name":"x"}')).status, 404, id)
  }
})
