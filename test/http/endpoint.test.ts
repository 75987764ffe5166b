import { test } from 'tap'
import type { Endpoint } from '../../src/http/endpoint.js'
import { integerParam, type TextFields, textParam } from '../../src/http/params.js'
import { probe } from '../support/servers/pipeline.js'

const specified = (path: string, params?: TextFields): Endpoint =>
  probe(path, params === undefined ? {} : { params })

const TEXT = textParam({ minLength: 1, maxLength: 9 })

test('path and params name the same parameters in the same order', async (t) => {
  t.doesNotThrow(() => specified('/a'))
  t.doesNotThrow(() => specified('/a', {}))
  t.doesNotThrow(() => specified('/a/{id}', { id: integerParam() }))
  t.doesNotThrow(() => specified('/a/{author}/{slug}', { author: TEXT, slug: TEXT }))
})

const MISMATCHES: readonly [about: string, path: string, params?: TextFields][] = [
  ['a parameter nobody declared', '/a/{id}'],
  ['a declared parameter that is not in the path', '/a', { id: integerParam() }],
  ['another name', '/a/{id}', { item_id: integerParam() }],
  ['another order', '/a/{author}/{slug}', { slug: TEXT, author: TEXT }],
  ['one too few', '/a/{author}/{slug}', { author: TEXT }],
  ['one too many', '/a/{author}', { author: TEXT, slug: TEXT }],
]

test('an endpoint whose path and params disagree is refused', async (t) => {
  for (const [about, path, params] of MISMATCHES) {
    t.throws(() => specified(path, params), { name: 'TypeError', message: `GET ${path}` }, about)
  }
})

test('an endpoint is frozen, its fields and replies included', async (t) => {
  const made = specified('/a/{id}', { id: integerParam() })
  for (const part of [made, made.params, made.query, made.replies]) t.ok(Object.isFrozen(part))
  t.same(made.query, {}, 'absent fields are no fields')
})

test('what an endpoint was made from can change without changing it', async (t) => {
  const params: Record<string, TextFields[string]> = { id: integerParam() }
  const made = specified('/a/{id}', params)
  params.other = TEXT
  t.same(Object.keys(made.params), ['id'])
})
