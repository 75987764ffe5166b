/** What a caller says to one provider alone: `provider.options`, a map of objects by provider (contract/gateway 2.7). */
import { Fault } from '../../../base/fault.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { isNeverPassed } from '../../formats/extra-members.js'
import { asObject, type JsonObject } from '../../formats/json-values.js'
import { refuseAccountReference } from '../http/server.js'
import type { ProviderCall } from '../port/provider.js'

/** What changes the form of the answer. */
const REFUSED: ReadonlySet<string> = new Set(['response_format', 'stream_format'])

/** Any other would be a name to some servers that we have not seen. */
const NAME = /^\w[\w.-]{0,99}(?:\[\])?$/

/**
 * The members for the provider that is asked; or the fault that names one which is not a caller's to set. `own`: what
 * the request has members of its own for.
 */
export function optionsFor(
  { request, endpoint }: ProviderCall<RoutedRequest>,
  own: ReadonlySet<string>,
): JsonObject | Fault {
  const { slug } = endpoint.provider
  const options = asObject(asObject(request.provider?.options)?.[slug]) ?? {}
  for (const name in options) {
    const plain = name.replace(/\[\]$/, '').toLowerCase()
    if (NAME.test(name) && !REFUSED.has(plain) && !own.has(plain) && !isNeverPassed(plain)) continue
    const note = `provider.options.${slug}.${name} is not supported: the request itself says it, or it names a person, state or what the gateway acts on`
    return new Fault('bad-request', { note, metadata: { error_type: 'invalid_request' } })
  }
  return refuseAccountReference({ provider: { options: { [slug]: options } } }) ?? options
}

/**
 * The same as fields of a form, or of a query: lists as repeated fields, with `listMark` behind their names, objects as
 * JSON; null says nothing.
 */
export function fieldsOf(options: JsonObject, listMark: '' | '[]'): [string, string][] {
  return Object.entries(options).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((each): [string, string] => [markedName(name, listMark), fieldText(each)])
      : value === null
        ? []
        : [[name, fieldText(value)] as [string, string]],
  )
}

function markedName(name: string, listMark: '' | '[]'): string {
  return name.endsWith('[]') ? name : name + listMark
}

function fieldText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
