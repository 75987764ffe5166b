/** What the operator says of a tool, put around it. */
import type { PreparedTool, ServerTool } from './port/tool.js'

/** For tools that come from elsewhere than the list of the request: beneath another tool, or with a plugin. */
export function withSwitch(tool: ServerTool, isOff: () => boolean): ServerTool {
  return {
    name: tool.name,
    prepare: (asked, request) =>
      isOff()
        ? { refused: 'names a tool that is switched off here', member: ['type'] }
        : tool.prepare(asked, request),
  }
}

/**
 * A tool whose every call costs the same.
 * @param price nano-dollars of a call; asked once per request
 */
export function withFlatPrice(tool: ServerTool, price: () => number): ServerTool {
  const charge = (ready: PreparedTool, nanos: number): PreparedTool => ({
    ...ready,
    fee: () => nanos,
    run: async (call, run) => {
      const outcome = await ready.run(call, run)
      return { ...outcome, charged: outcome.executed ? nanos : 0 }
    },
  })
  const take = (ready: Awaited<ReturnType<ServerTool['prepare']>>, nanos: number) =>
    'refused' in ready || nanos === 0 ? ready : charge(ready, nanos)
  return {
    name: tool.name,
    prepare: (asked, request) => {
      const ready = tool.prepare(asked, request)
      const nanos = price()
      return ready instanceof Promise ? ready.then((each) => take(each, nanos)) : take(ready, nanos)
    },
  }
}
