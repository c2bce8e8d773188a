// `npm run build`: bundles the server into dist/, after the installation of the npm packages.
import { bundle } from './setup/bundle.mjs'
import { explainFailure, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  await setUp('check')
  await step('server', bundle)
})
