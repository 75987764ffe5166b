/** What requests are made of. The screens of a heading are loaded together: apart they would be a quarter larger. */
export { Screen as Files } from './files/files.tsx'
export { Screen as Models } from './models/models.tsx'
export { Screen as Playground } from './playground/playground.tsx'
