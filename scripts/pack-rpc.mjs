// `npm run pack:rpc`: writes the RPC module as an npm package of its own.
import { join, relative } from 'node:path'
import { root } from './setup/child-process.mjs'
import { explainFailure, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(async () => {
  await setUp('check')
  // Imported here, because it imports npm packages.
  const { packRpc } = await import('./pack/rpc-package.mjs')
  await step('tarball', async () => {
    const { path, bytes } = await packRpc(join(root, 'dist'))
    return `${relative(root, path)}, ${Math.ceil(bytes / 1024)} KiB`
  })
})
