/** The console: starts the application in the page. */
import { render } from 'preact'
import { App } from './shell/app.tsx'
import { followLinks } from './shell/location.ts'
import { loadSession } from './shell/session.ts'
import { applyTheme } from './shell/theme.ts'

applyTheme()
followLinks()
void loadSession()
render(<App />, document.getElementById('console')!)
