/** How markup of the console's screens is called. */
export { Fragment, h } from 'preact'
