/** What the operator of the server sees. The screens of a heading are loaded together: apart they would be a quarter larger. */
export { Screen as Fleet } from './fleet/fleet.tsx'
export { Screen as Organizations } from './organizations/organizations.tsx'
export { Screen as Settings } from './settings/settings.tsx'
export { Screen as Tools } from './tools/tools.tsx'
