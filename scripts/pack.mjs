// `npm run pack`: writes a tarball of the server that runs on a machine with Node and Git only.
import { join, relative } from 'node:path'
import { root } from './setup/child-process.mjs'
import { explainFailure, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  await setUp('serve')
  // Imported here, because it imports npm packages.
  const { pack } = await import('./pack/pack.mjs')
  await step('tarball', async () => {
    const { path, bytes } = await pack(join(root, 'dist'))
    return `${relative(root, path)}, ${(bytes / 1024 ** 2).toFixed(1)} MiB`
  })
})
