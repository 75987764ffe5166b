import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** A file of the documentation page. */
export interface ViewerAsset {
  readonly name: string
  readonly mediaType: string
  /** Read at the first call and kept. */
  readonly content: () => string | Uint8Array
}

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'

const MARKUP = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice: API documentation</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="viewer"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `window.ui = SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  validatorUrl: null,
})
`

export const VIEWER_PAGE: ViewerAsset = { name: '', mediaType: HTML, content: () => MARKUP }

/** What the page loads: the viewer from its package, and the line that starts it. */
export function viewerAssets(): ViewerAsset[] {
  return [
    packageAsset('swagger-ui-bundle.js', SCRIPT),
    packageAsset('swagger-ui.css', STYLE),
    { name: 'start.js', mediaType: SCRIPT, content: () => START },
  ]
}

function packageAsset(name: string, mediaType: string): ViewerAsset {
  let kept: Uint8Array | null = null
  return {
    name,
    mediaType,
    content: () => {
      kept ??= readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`))
      return kept
    },
  }
}
