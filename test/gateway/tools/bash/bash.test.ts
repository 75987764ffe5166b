/** The tool as the loop sees it: files in and out, containers of others, refusals. */
import { test } from 'tap'
import type { Principal } from '../../../../src/base/principal.js'
import type { JsonObject } from '../../../../src/gateway/formats/json-values.js'
import { createBashTool } from '../../../../src/gateway/tools/bash/bash.js'
import type { Sandbox } from '../../../../src/gateway/tools/bash/sandbox.js'
import type { CreatedFile, ToolFiles, ToolRun } from '../../../../src/gateway/tools/port/tool.js'
import { NO_FILES } from '../../../support/data/no-files.js'
import { openSandboxStage, whyNoSandbox } from '../../../support/tools/local-sandbox.js'
import { askTool, CALLER, prepared, refusalOf, toolRun } from '../../../support/tools/tool-call.js'

const why = await whyNoSandbox()
const hasSandbox = { skip: why ?? false }
const NEIGHBOUR: Principal = { ...CALLER, workspaceId: 'ws-2' }

function toolOver(sandbox: Sandbox | string, defects: unknown[] = []) {
  return createBashTool('bash', {
    settings: () => ({ allowedDomains: ['example.com'], maxOutputBytes: 4_096, maxFileBytes: 1_000 }),
    sandbox: async () => sandbox,
    workspaceOf: ({ workspaceId }) => workspaceId,
    onDefect: (error) => void defects.push(error),
  })
}

/** A workspace with these files, in which `room` more find a place. */
function workspace(
  texts: Readonly<Record<string, string>>,
  room = 100,
): ToolFiles & { made: Map<string, string> } {
  const made = new Map<string, string>()
  const file = (id: string, filename: string, sizeBytes: number): CreatedFile => ({
    ...{ id, filename, sizeBytes, mimeType: 'text/plain' },
  })
  return {
    ...NO_FILES,
    made,
    read: async (id, maxBytes) => {
      const bytes = Buffer.from(texts[id] ?? '')
      if (texts[id] === undefined || bytes.length > maxBytes) return null
      return { file: file(id, `../in/${id}.txt`, bytes.length), bytes }
    },
    create: async (filename, bytes) => {
      if (made.size >= room) throw new Error('there is no room')
      made.set(filename, Buffer.from(bytes).toString())
      return file(`made-${made.size}`, filename, bytes.length)
    },
  }
}

const command = (text: string): JsonObject => ({ command: text })
const inContainer = (id: string): JsonObject => ({
  environment: { type: 'container_reference', container_id: id },
})

test('files of the request go in, and what a command writes comes out', hasSandbox, async (t) => {
  const stage = await openSandboxStage()
  t.teardown(() => stage.close())
  const tool = toolOver(stage.sandbox)
  const files = workspace({ a: 'one', b: 'two' })
  const ready = await prepared(tool, { environment: { type: 'container_auto', file_ids: ['a', 'b'] } })
  const call = (text: string, run: Partial<ToolRun> = {}) =>
    ready.run({ id: 'call', function: 'bash', arguments: command(text) }, toolRun({ files, ...run }))
  const [first, second] = await Promise.all([
    call(
      'cat a.txt b.txt; mkdir out; echo three >out/c.txt; touch empty .hidden; head -c 2000 /dev/zero >large',
    ),
    call('cat out/c.txt; echo more >>a.txt'),
  ])
  t.match(first, {
    isError: false,
    executed: true,
    content: {
      ...{ stdout: 'onetwo', exit_code: 0, container_id: /^[\w-]{1,20}$/ },
      files: [{ id: 'made-1', path: 'out/c.txt', size_bytes: 6 }],
      files_left_in_container: ['large'],
    },
    files: [{ id: 'made-1', filename: 'c.txt' }],
  })
  t.match(
    second.content,
    { stdout: 'three\n', files: [{ path: 'a.txt' }] },
    'one after the other, in one container',
  )
  t.same(
    [...files.made],
    [
      ['c.txt', 'three\n'],
      ['a.txt', 'onemore\n'],
    ],
  )
  const full = await call('for i in 1 2 3; do echo $i >n$i; done', { files: workspace({}, 1) })
  t.match(full, { isError: false, content: { exit_code: 0 } })
  const { files: kept, files_left_in_container: left } = full.content as Record<string, unknown[]>
  t.same([kept!.length, left!.length], [1, 2], 'what the workspace has no room for is named')

  const { container_id: id } = first.content as { container_id: string }
  const neighbour = await tool.prepare(
    { name: 'bash', parameters: inContainer(id), type: 'service:bash', place: ['tools', 0], isNative: false },
    { caller: NEIGHBOUR, isSimulated: false, contextLength: 1, conversationTexts: () => [] },
  )
  if ('refused' in neighbour) throw new Error(neighbour.refused)
  t.match(await neighbour.run({ id: 'c', function: 'bash', arguments: command('ls') }, toolRun()), {
    ...{ isError: true, executed: false, content: { error: 'container_expired' } },
  })
  t.match(await askTool(tool, inContainer(id), command('cat out/c.txt')), { content: { stdout: 'three\n' } })
})

test('a container that is over is no container', async (t) => {
  let now = 1_000_000
  const stage = await openSandboxStage({ unixMs: () => now })
  t.teardown(() => stage.close())
  const { id } = await stage.sandbox.create({ organizationId: 'org-1', workspaceId: 'ws-1' })
  now += 1_200_000
  const tool = toolOver(stage.sandbox)
  const over = { isError: true, executed: false, content: { error: 'container_expired' } }
  t.match(await askTool(tool, inContainer(id), command('ls')), over)
  t.match(await askTool(tool, inContainer('../../etc'), command('ls')), over)
})

const unused = new Proxy({} as Sandbox, {
  get: (_, member) => {
    if (member === 'then') return undefined
    if (member === 'name') return 'unused'
    throw new Error(`${String(member)} was used`)
  },
})

test('what cannot be had is refused with the member that asks for it', async (t) => {
  const tool = toolOver(unused)
  const environment = (more: JsonObject): JsonObject => ({ environment: { type: 'container_auto', ...more } })
  t.match(await refusalOf(tool, { engine: 'native' }), { member: ['parameters', 'engine'] })
  t.match(await refusalOf(tool, environment({ file_ids: Array(21).fill('f') })), {
    member: ['parameters', 'environment', 'file_ids'],
  })
  for (const host of [
    'example.org',
    'notexample.com',
    'com',
    '',
    '.',
    'example.com.evil',
    '127.0.0.1',
    '::1',
  ]) {
    const policy = { type: 'allowlist', allowed_domains: ['a.EXAMPLE.com', 'example.com.', host] }
    t.match(await refusalOf(tool, environment({ network_policy: policy })), {
      member: ['parameters', 'environment', 'network_policy', 'allowed_domains', 2],
    })
  }
  t.match(await refusalOf(toolOver('is off: set tools.bash.enabled'), {}), {
    refused: /tools\.bash\.enabled/,
  })
  const homeless = { caller: { ...CALLER, workspaceId: null } as unknown as Principal }
  t.match(await refusalOf(tool, {}, homeless), { refused: 'needs a workspace' })
})

test('arguments and files that are none ask nobody', async (t) => {
  for (const bad of [undefined, 7, 'a\0b', 'x'.repeat(100_001)]) {
    const outcome = await askTool(toolOver(unused), {}, { command: bad } as JsonObject)
    t.match(outcome, { isError: true, executed: false, content: { error: /command must be a text/ } })
  }
  const made = { name: 'made', create: async () => ({ id: 'c', expiresAtUnixMs: 0 }) } as unknown as Sandbox
  for (const id of ['gone', 'large']) {
    const files = workspace({ large: 'x'.repeat(1_001) })
    const asked = { environment: { type: 'container_auto', file_ids: [id] } }
    const outcome = await askTool(toolOver(made), asked, command('ls'), { files })
    t.match(outcome, { isError: true, executed: false, content: { error: new RegExp(`"${id}"`) } })
  }
})

test('a call that is over before its sandbox is no defect, and anything else that breaks is one', async (t) => {
  const defects: unknown[] = []
  const tool = toolOver(unused, defects)
  const signal = AbortSignal.abort(new Error('it took longer than 30 s'))
  t.match(await askTool(tool, {}, command('ls'), { signal }), {
    content: { error: 'The command was cancelled.' },
  })
  t.equal(defects.length, 0)
  t.match(await askTool(tool, {}, command('ls')), {
    content: { error: 'The sandbox failed.' },
    isError: true,
  })
  t.match(defects, [{ message: 'create was used' }])
})
