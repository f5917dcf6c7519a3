import * as platform from '#platform'
import { unsupported } from './errors.js'
import type { TokenStore } from './platform.js'

export type { TokenStore } from './platform.js'

/** A store in a file of mode 0600, which processes may share. {@link Namewharf.signIn} uses one by default. */
export function fileStore(path: string): TokenStore {
  if (!platform.interactive) throw unsupported('a file')
  return platform.fileStore(path)
}
