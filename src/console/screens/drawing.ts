/**
 * The charts, in a file of their own that is loaded when one is seen. They import nothing but types: what they shared
 * with screens the build would cut out of those.
 */
export { Waterfall } from './generations/waterfall.tsx'
export { RateChart } from './overview/rate-chart.tsx'
export { BarChart } from './usage/bar-chart.tsx'
