// The address that a hosted proxy stands for, so that a server and its proxied self are known to be the same. Which
// parameter holds it is nowhere written down: any that is a URL will do, and without one the address stays as it is.

const MARKERS = ['/v2/session_ingress/shttp/mcp/', '/v2/ccr-sessions/'];

export function unproxied(url: string): string {
  if (!MARKERS.some((marker) => url.includes(marker)) || !URL.canParse(url)) return url;
  const { pathname, searchParams } = new URL(url);
  if (!MARKERS.some((marker) => pathname.includes(marker))) return url;
  return [...searchParams.values()].find((value) => /^https?:\/\//.test(value) && URL.canParse(value)) ?? url;
}
