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

test('a router that may not be overridden chooses before any that the request names', async (t) => {
  const plugin = { id: 'auto-router', allowed_models: ['a/*'] }
  const operator = config({ plugins: { defaults: [{ plugin, overridable: false }] } })
  const pareto = { id: 'pareto-router', options: {}, place: ['plugins', 0] }
  const admitted = admitTooling(operator, caller, asking({ plugins: [pareto] })) as Tooling
  t.match(admitted.plugins, [{ id: 'auto-router', options: { allowed_models: ['a/*'] } }, pareto])
})

test('what a request only implies has the options of the default', async (t) => {
  const plugin = { id: 'auto-router', allowed_models: ['a/*'] }
  const operator = config({ plugins: { defaults: [{ plugin }] } })
  const optionsOf = (asked: Tooling['plugins'][number]) => {
    const { plugins } = admitTooling(operator, caller, asking({ plugins: [asked] })) as Tooling
    return plugins.map(({ options }) => options)
  }
  const implied = { id: 'auto-router', options: {}, place: ['model'] }
  t.strictSame(optionsOf(implied), [{ allowed_models: ['a/*'] }])
  t.strictSame(
    optionsOf({ ...implied, place: ['plugins', 0] }),
    [{}],
    'named, it has the options of the request',
  )
})

test('two defaults of one plugin for one organization are a fault of the configuration', async (t) => {
  const healing = { plugin: { id: 'response-healing' } }
  const STRANGERS = '0198f000-0000-7000-8000-000000000002'
  const faultsOf = (...defaults: readonly object[]) => readGateway({ plugins: { defaults } }, {}).faults
  t.match(
    JSON.stringify(faultsOf(healing, { ...healing, organizations: [ACME] })),
    /same organization already/,
  )
  const apart = [
    { ...healing, organizations: [ACME] },
    { ...healing, organizations: [STRANGERS] },
  ]
  t.strictSame(faultsOf(...apart), [])
})
