// `npm run landed`: makes the present API the one that `buf breaking` compares with, after it has
// landed.
import { land } from './checks/landed.mjs'
import { explainFailure, Failure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  await setUp('check')
  const { code, output } = await land()
  if (code !== 0) throw new Failure('proto/ does not build: correct what is said above.', output)
})
