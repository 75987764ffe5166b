/** What happens and what has happened. The screens of a heading are loaded together: apart they would be a quarter larger. */
export { Screen as Generations } from './generations/generations.tsx'
export { Screen as Overview } from './overview/overview.tsx'
export { Screen as Usage } from './usage/usage.tsx'
