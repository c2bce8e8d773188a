// `npm run build`: bundles the server and the web pages into dist/, after the installation of the npm packages.
import { bundle } from './setup/bundle.mjs'
import { bundleWeb } from './setup/bundle-web.mjs'
import { explainFailure, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  await setUp('build')
  await step('server', bundle)
  await step('web pages', bundleWeb)
})
