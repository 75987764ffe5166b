/** Renders the Lua program that makes wrk send a scenario's cycle and report in microseconds. */
import { WRK_REPORT_SCRIPT } from '../harness/generators/wrk.js'
import {
  hasPlaceholder,
  headersOf,
  type IdPlan,
  type RequestSpec,
  SPREAD_STEP,
} from '../harness/http/requests.js'

/**
 * The program for one run. A cycle of one fixed request is set once, because wrk then never enters Lua while it
 * runs; longer cycles cost it a call per request, with everything that does not change built beforehand.
 */
export function wrkScript(requests: readonly RequestSpec[], ids: IdPlan): string {
  const [only] = requests
  const fixed = requests.length === 1 && only !== undefined && !hasPlaceholder(only)
  return [fixed ? fixedRequest(only) : requestCycle(requests, ids), WRK_REPORT_SCRIPT].join('\n')
}

function fixedRequest(request: RequestSpec): string {
  const lines = [`wrk.method = ${luaString(request.method)}`, `wrk.path = ${luaString(request.path)}`]
  for (const [name, value] of Object.entries(headersOf(request))) {
    lines.push(`wrk.headers[${luaString(name)}] = ${luaString(value)}`)
  }
  if (request.body !== undefined) lines.push(`wrk.body = ${luaString(request.body)}`)
  return lines.join('\n')
}

function requestCycle(requests: readonly RequestSpec[], ids: IdPlan): string {
  return `
next_id = ${ids.next}
local spread, at, turn = ${ids.spread}, 0, 0
local cycle = {
${requests.map(cycleEntry).join(',\n')}
}
init = function()
  for _, one in ipairs(cycle) do
    if one.kind == '' then one.built = wrk.format(one.method, one.path, one.headers, one.body) end
  end
end
request = function()
  turn = turn % #cycle + 1
  local one = cycle[turn]
  if one.built then return one.built end
  local id
  if one.kind == 'next' then
    id = next_id
    next_id = next_id + 1
  else
    at = (at + ${SPREAD_STEP}) % spread
    id = at + 1
  end
  return wrk.format(one.method, one.path .. string.format('%d', id), one.headers, one.body)
end`
}

function cycleEntry(request: RequestSpec): string {
  const [, prefix, kind] = /^(.*)\{(next|spread)\}$/.exec(request.path) ?? [null, request.path, '']
  const headers = Object.entries(headersOf(request)).map(
    ([name, value]) => `[${luaString(name)}] = ${luaString(value)}`,
  )
  const body = request.body === undefined ? '' : `, body = ${luaString(request.body)}`
  return `  { kind = '${kind}', method = ${luaString(request.method)}, path = ${luaString(prefix!)}, headers = { ${headers.join(', ')} }${body} }`
}

/** A Lua string literal: every byte outside plain letters, digits and a few signs as a decimal escape. */
function luaString(value: string): string {
  let literal = ''
  for (const byte of Buffer.from(value)) {
    const char = String.fromCharCode(byte)
    literal += /[\w /.,:;?=&{}-]/.test(char) ? char : `\\${String(byte).padStart(3, '0')}`
  }
  return `"${literal}"`
}
