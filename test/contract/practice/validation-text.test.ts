/** contract/practice 1, "Text length": Unicode code points, whatever their size in UTF-8 or UTF-16. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { refused, type Violation, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { client } = await practiceServer()
await client.write('POST', '/api/v1/items', { name: 'item 1' })

interface TextField {
  readonly about: string
  readonly min: number
  readonly max: number
  readonly loc: readonly string[]
  readonly success: number
  send(text: string): Promise<HttpReply>
  /** The text as the answer repeats it, where it does. */
  echo?(reply: HttpReply): string
}

const name = (reply: HttpReply): string => (reply.json as { name: string }).name
const description = (reply: HttpReply): string => (reply.json as { description: string }).description

const FIELDS: readonly TextField[] = [
  {
    about: 'name of create_item',
    ...{ min: 1, max: 100, loc: ['body', 'name'], success: 201 },
    send: (text) => client.write('POST', '/api/v1/items', { name: text }),
    echo: name,
  },
  {
    about: 'name of update_item',
    ...{ min: 1, max: 100, loc: ['body', 'name'], success: 200 },
    send: (text) => client.write('PUT', '/api/v1/items/1', { name: text }),
    echo: name,
  },
  {
    about: 'description of create_item',
    ...{ min: 0, max: 1000, loc: ['body', 'description'], success: 201 },
    send: (text) => client.write('POST', '/api/v1/items', { name: 'x', description: text }),
    echo: description,
  },
  {
    about: 'description of update_item',
    ...{ min: 0, max: 1000, loc: ['body', 'description'], success: 200 },
    send: (text) => client.write('PUT', '/api/v1/items/1', { name: 'x', description: text }),
    echo: description,
  },
  {
    about: 'data of hash',
    ...{ min: 0, max: 1000, loc: ['body', 'data'], success: 200 },
    send: (text) => client.write('POST', '/api/v1/hash', { data: text, rounds: 1 }),
  },
  {
    about: 'q of search_items',
    ...{ min: 1, max: 50, loc: ['query', 'q'], success: 200 },
    send: (text) => client.get(`/api/v1/search?q=${encodeURIComponent(text)}`),
  },
]

const FAMILY = '👨‍👩‍👧‍👦' // four people and three joiners: seven code points
const FLAG = '🏴󠁧󠁢󠁷󠁬󠁳󠁿' // a flag and six tags: seven code points

/** Texts of exactly `n` code points. */
const MAKERS: Readonly<Record<string, (n: number) => string>> = {
  letters: (n) => 'a'.repeat(n),
  'two-byte letters': (n) => 'é'.repeat(n),
  'three-byte letters': (n) => '本'.repeat(n),
  emoji: (n) => '😀'.repeat(n),
  'letters with combining accents': (n) => 'e\u0301'.repeat(n / 2) + 'x'.repeat(n % 2),
  'joined families': (n) => FAMILY.repeat(Math.floor(n / 7)) + '😀'.repeat(n % 7),
  'flags of tags': (n) => FLAG.repeat(Math.floor(n / 7)) + 'x'.repeat(n % 7),
  'emoji and letters in turn': (n) => 'a😀'.repeat(n / 2) + 'a'.repeat(n % 2),
  'an emoji after letters': (n) => `${'a'.repeat(n - 1)}😀`,
  'control characters': (n) => '\u0000\u001f'.repeat(n / 2) + '\u007f'.repeat(n % 2),
  'noncharacters and private use': (n) =>
    '\uffff'.repeat(n / 2) + '\u{10ffff}'.repeat(n / 2) + '\ue000'.repeat(n % 2),
  spaces: (n) => ' '.repeat(n),
}

function outside({ loc, max }: TextField): Violation[] {
  return [violation.tooLong(loc, max)]
}

for (const field of FIELDS) {
  test(`the ${field.about} may have ${field.max} code points and no more`, async (t) => {
    for (const [kind, make] of Object.entries(MAKERS)) {
      for (const length of [1, field.max - 1, field.max]) {
        const text = make(length)
        t.equal([...text].length, length, `the test means ${length} ${kind}`)
        const reply = await field.send(text)
        t.equal(reply.status, field.success, `${length} ${kind}`)
        if (field.echo !== undefined) t.equal(field.echo(reply), text, `${length} ${kind} come back as sent`)
      }
      refused(t, await field.send(make(field.max + 1)), outside(field), `${field.max + 1} ${kind}`)
      refused(t, await field.send(make(field.max * 2)), outside(field), `${field.max * 2} ${kind}`)
    }
  })

  test(`the ${field.about} needs at least ${field.min} code points`, async (t) => {
    const reply = await field.send('')
    if (field.min === 0) t.equal(reply.status, field.success)
    else refused(t, reply, [violation.tooShort(field.loc, field.min)], 'empty')
  })
}
