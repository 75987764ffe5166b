/** Offers the tool `fusion` in a request that does not name it, with a panel by preset (contract/tools 4.6). */
import type { Catalog } from '../../catalog/catalog.js'
import type { RequestedTool } from '../../formats/tooling.js'
import { choosePanel, type PanelPreset } from '../../tools/fusion/panel.js'
import { type InnerParametersFault, refuseInnerTools } from '../../tools/nested/inner-request.js'
import type { Plugin } from '../port/plugin.js'

/** @param catalog asked with every request */
export function createFusionPlugin(catalog: () => Catalog, faultIn: InnerParametersFault): Plugin {
  return {
    id: 'fusion',
    prepare({ options, place }, { request }) {
      if (request.tooling?.tools.some(({ name }) => name === 'fusion')) return {}
      const refusal = refuseInnerTools('fusion', options, faultIn)
      // A plugin has no `parameters` around its members.
      if (refusal !== null) return { ...refusal, member: refusal.member?.slice(1) ?? [] }
      const { preset, ...parameters } = options
      const tool: RequestedTool = {
        name: 'fusion',
        parameters,
        type: 'service:fusion',
        place,
        isNative: false,
      }
      if (preset === undefined || parameters.analysis_models !== undefined) return { tools: [tool] }
      const panel = choosePanel(catalog(), preset as PanelPreset)
      if ('models' in panel)
        return { tools: [{ ...tool, parameters: { ...parameters, analysis_models: panel.models } }] }
      const refused = `needs figures that the catalogue does not have: no model has the column ${panel.missing}`
      return { refused, member: ['preset'] }
    },
  }
}
