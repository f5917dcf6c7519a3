// Builds src into dist/esm and dist/cjs, with the tools of test/package.json: declarations by tsc, code by esbuild, which makes
// one file of many, because loading a file costs Node most of a millisecond.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))
rmSync('dist', { recursive: true, force: true })

execFileSync(process.execPath, ['test/node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--emitDeclarationOnly'], { stdio: 'inherit' })
// In a package of ES modules CommonJS is named .cjs, and its types .d.cts.
for (const name of readdirSync('dist/esm', { recursive: true })) {
  if (!name.endsWith('.d.ts')) continue
  const file = join('dist/cjs', name.replace(/\.d\.ts$/, '.d.cts'))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, readFileSync(join('dist/esm', name), 'utf8').replace(/(["'])(\.\.?\/[^"']+)\.js\1/g, '$1$2.cjs$1'))
}
for (const [format, extension] of [['esm', '.js'], ['cjs', '.cjs']]) {
  const files = ['index', 'platform.node', 'platform.web'].map((name) => `src/${name}.ts`)
  const flags = ['--bundle', '--target=es2022', '--external:#platform', '--platform=node', `--format=${format}`, `--outdir=dist/${format}`, `--out-extension:.js=${extension}`]
  execFileSync('test/node_modules/esbuild/bin/esbuild', [...files, ...flags, '--tsconfig-raw={}', '--log-level=warning'], { stdio: 'inherit' })
}
