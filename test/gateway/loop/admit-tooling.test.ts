import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { ANONYMOUS, type Principal } from '../../../src/base/principal.js'
import { readGateway } from '../../../src/compose/configuration.js'
import type { Tooling } from '../../../src/gateway/formats/tooling.js'
import { admitTooling, defaultTooling } from '../../../src/gateway/loop/admit-tooling.js'

const ACME = '0198f000-0000-7000-8000-000000000001'
const caller: Principal = { ...ANONYMOUS, keyHash: 'k', organizationId: ACME }
const stranger: Principal = { ...caller, organizationId: '0198f000-0000-7000-8000-000000000002' }

function config(file: Readonly<Record<string, unknown>>) {
  const { gateway, faults } = readGateway(file, {})
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return gateway
}

function asking(asked: Partial<Tooling>): Tooling {
  return { tools: [], plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30, ...asked }
}

const CLOCK = {
  name: 'datetime',
  parameters: {},
  type: 'openrouter:datetime',
  place: ['tools', 2],
  isNative: false,
}

test('a tool that the operator has switched off is a 400 that names it, in the word of the caller', async (t) => {
  const fault = admitTooling(
    config({ tools: { datetime: { enabled: false } } }),
    caller,
    asking({ tools: [CLOCK] }),
  )
  if (!(fault instanceof Fault)) throw new Error('it was let in')
  t.equal(fault.kind, 'invalid-input')
  t.strictSame(fault.issues[0]?.loc, ['body', 'tools', 2, 'type'])
  t.match(fault.issues[0]?.note, /openrouter:datetime/)
})

test('the sandbox is off unless it is enabled, under both names', async (t) => {
  for (const name of ['bash', 'shell']) {
    const tooling = asking({ tools: [{ ...CLOCK, name, type: `service:${name}` }] })
    t.ok(admitTooling(config({}), caller, tooling) instanceof Fault, name)
    t.equal(admitTooling(config({ tools: { bash: { enabled: true } } }), caller, tooling), tooling, name)
  }
})

test('a default of an organization runs for it alone, unless the request has its own or switches it off', async (t) => {
  const healing = { plugin: { id: 'response-healing' }, organizations: [ACME] }
  const operator = config({ plugins: { defaults: [healing] } })
  const ids = (of: Principal, asked: Partial<Tooling>) => {
    const admitted = admitTooling(operator, of, asking(asked))
    return admitted instanceof Fault
      ? admitted
      : admitted.plugins.map(({ id, place }) => `${id} ${place.join()}`)
  }
  const own = { id: 'response-healing', options: {}, place: ['plugins', 0] }
  t.strictSame(ids(caller, {}), ['response-healing plugins'])
  t.strictSame(ids(stranger, {}), [])
  t.strictSame(ids(caller, { plugins: [own] }), ['response-healing plugins,0'])
  t.strictSame(ids(caller, { disabled: ['response-healing'] }), [])
  t.ok(defaultTooling(operator, caller), 'also for a request that asks for nothing')
  t.equal(defaultTooling(operator, stranger), null)
  t.equal(defaultTooling(config({}), caller), null)
})

test('a default that may not be overridden runs as configured, whatever the request says', async (t) => {
  const plugin = { id: 'context-compression', engine: 'middle-out' }
  const operator = config({ plugins: { defaults: [{ plugin, overridable: false }] } })
  const asked = { id: 'context-compression', options: {}, place: ['plugins', 0] }
  for (const request of [{}, { plugins: [asked] }, { disabled: ['context-compression'] }]) {
    t.match(admitTooling(operator, caller, asking(request)), {
      plugins: [{ id: 'context-compression', options: { engine: 'middle-out' } }],
    })
  }
})
